import ArgumentParser
import Files
import Import
import Messages
import Recording
import ServiceKit
import SystemPackage

/// The `import` subcommand: makes sessions from files of wearables and phones. Needs no running recorder.
///
/// Exits 0 if the files are whole, 3 if samples are absent or damaged, 1 if a file can't be imported.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Make sessions from files of wearables and phones.",
        discussion: """
            Reads Axivity .cwa, ActiGraph .gt3x, Sensor Logger exports (zip or JSON), and tables with a header (CSV, TSV), each \
            also compressed with gzip. A file becomes a session like any other: it can be verified, exported, archived and \
            counted. Absent and damaged samples are gaps; none are made up. An existing session is never changed.
            """)

    @Argument(help: ArgumentHelp("Files to import, each as a session.", valueName: "file"), completion: .file())
    var files: [String]

    /// `--data` is also an option of the program itself, which accepts it in any place.
    @OptionGroup(title: "Options of the recorder") var service: ServiceOptions

    @Option(help: "The session's name (default: the file's).")
    var session: String?

    @Option(help: "What the person did.")
    var task = ""

    @Option(help: "The device's name (default: the one in the file; for a table, the file's name).")
    var device: String?

    @Option(help: "The stream's name, for a table (default: accelerometer if it has x, y and z, else samples).")
    var stream: String?

    @Option(help: "The unit of a table's values, such as g or m/s2 (default: none).")
    var unit: String?

    @Option(
        help: ArgumentHelp(
            "The column of a table that has the times (default: time, timestamp, datetime, date, t, unix or seconds_elapsed).",
            valueName: "column"))
    var time: String?

    @Option(help: ArgumentHelp("When a table's seconds begin, such as 2026-11-21T10:00:00Z.", valueName: "date"))
    var start: ISODate?

    // West of Greenwich, the offset begins with a hyphen.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The zone of the device's clock, such as +01:00 (default: the file's, else UTC).", valueName: "offset"))
    var zone: ZoneOffset?

    @Option(help: "The format of stream files: json, csv or tsv.")
    var format = LogFormat.json

    @Option(help: ArgumentHelp("Begin a new stream file after this size (default: 64MB).", valueName: "size"))
    var maximumFileSize = ByteCount(bytes: 64_000_000)

    func validate() throws {
        if session != nil, files.count > 1 { throw ValidationError("--session names one session: give one file") }
        for (option, name) in [("--device", device), ("--stream", stream)] where name.map({ !Self.isName($0) }) == true
        {
            throw ValidationError("\(option) must not be empty or have a \"/\"")
        }
        if maximumFileSize.bytes < 4096 { throw ValidationError("--maximum-file-size must be at least 4096") }
    }

    private static func isName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && !text.utf8.contains(UInt8(ascii: "/"))
    }

    func run() throws {
        FileMode.applyStandard()
        var options = SessionImport.Options(
            data: try ConfigurationReader(for: .recorder, flags: service.flags).value(\ServiceSettings.$data))
        options.task = task
        options.device = device
        options.stream = stream
        options.unit = unit
        options.time = time
        options.start = start?.time
        options.zone = zone?.seconds
        options.format = format
        options.maximumFileSize = maximumFileSize.bytes
        var status = ExitStatus.done
        for file in files {
            do {
                let outcome = try SessionDirectory.opening(file) { path throws(RecordingError) in
                    if let session { options.session = try SessionIdentifier(new: session) }
                    return try importFile(path, options)
                }
                if !outcome.report.isWhole, status == .done { status = .doneWithLoss }
            } catch {
                // The error was already shown, and does not affect the other files.
                status = .failed
            }
        }
        if status != .done { throw ExitCode(status.rawValue) }
    }

    private func importFile(
        _ path: FilePath, _ options: SessionImport.Options
    ) throws(RecordingError) -> SessionImport.Outcome {
        let line = ByteProgress(path.lastComponent?.string ?? "")
        defer { line.clear() }
        let outcome = try SessionImport(path, options, version: Version.current).run { line.show($0) }
        line.clear()
        StandardStream.output.print(outcome.text)
        return outcome
    }
}

extension SessionImport.Outcome {
    /// A line about the session that was made, and a line for each problem.
    fileprivate var text: String {
        let samples = report.streams.reduce(0) { $0 + $1.received }
        let gaps = report.streams.reduce(0) { $0 + $1.gaps.count }
        let lost = report.streams.reduce(0) { $0.addingClamped($1.lost) }
        let extent = "\(samples.counted("sample")) of \(report.streams.count.counted("stream"))"
        let seconds = TextColumns.decimal(report.endDate.seconds(since: report.startDate), places: 3)
        // A wrong form of the times shows here first.
        let time = "\(seconds) s from \(report.startDate.utcText)"
        var lines = [
            "\(session): \(extent), \(gaps.counted("gap")) with \(lost.counted("sample")), \(time), in \(path)"
        ]
        lines += report.failures.map { "\(session): \($0)" }
        if !leftOut.isEmpty { lines.append("\(session): left out \(leftOut.joined(separator: ", "))") }
        return lines.map { $0 + "\n" }.joined()
    }
}

/// A zone's offset from UTC: `+01:00`, `-0530`, `Z`.
struct ZoneOffset: ExpressibleByArgument {
    let seconds: Int

    init?(argument: String) {
        guard let midnight = try? WallTime(iso8601: "2000-01-01T00:00:00\(argument)") else { return nil }
        let utc: Int64 = 946_684_800
        seconds = Int(utc - midnight.nanosecondsSince1970 / 1_000_000_000)
    }
}

/// A date with a zone, ISO 8601.
struct ISODate: ExpressibleByArgument {
    let time: WallTime

    init?(argument: String) {
        guard let time = try? WallTime(iso8601: argument) else { return nil }
        self.time = time
    }
}

extension LogFormat: ExpressibleByArgument {}
