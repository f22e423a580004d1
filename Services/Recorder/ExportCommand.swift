import ArgumentParser
import Export
import Files
import Messages
import Recording
import ServiceKit
import StepDetection
import SystemPackage

/// The `export` subcommand: writes sessions in the formats of analysis tools. Needs no running recorder.
///
/// Exits 0 if all samples are in the export, 3 if some are absent or damaged or a session has a failure, 1 if a session
/// can't be exported.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export sessions for pandas, GGIR, MNE, Foxglove, ROS 2.",
        discussion: """
            Reads finished sessions, copies of them, and running sessions up to now. Times are converted to the recorder's clock \
            with the offsets that were measured during the session. A provenance file next to the data lists what was read, \
            done and written, and what is missing.
            """)

    @Argument(help: ArgumentHelp("Directories of sessions.", valueName: "dir"), completion: .directory)
    var sessions: [String]

    @Option(help: ArgumentHelp("Export to this directory.", valueName: "dir"), completion: .directory)
    var to: String

    @Option(help: "csv, bids, mcap or xdf.")
    var format: SessionExport.Format

    @Option(
        help: """
            utc: the recorder's clock, as dates; recorder: the same, as seconds since the session's start; own: the \
            publishers' own clocks, uncorrected, as seconds (default: utc; with xdf: recorder).
            """)
    var clock: ExportClock?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Streams: DEVICE/STREAM, DEVICE/ for all of a device, or '*' for all (default: all).", valueName: "stream"))
    var streams: [String] = []

    @Option(
        help: ArgumentHelp(
            "Count steps in streams of this name, and export bouts of walking, with csv and bids; may be repeated.",
            valueName: "name"))
    var countSteps: [String] = []

    @Option(help: "Where the devices whose steps are counted were worn: unknown, phone or wrist (default: unknown).")
    var placement: SensorPlacement?

    @Option(help: "Resample to this many samples per second, never across a gap (default: as recorded).")
    var rate: Double?

    @Option(help: "The participant's label, with bids (default: 01).")
    var subject: String?

    @Option(name: .customLong("run"), help: "The run's number, with bids (default: none; 1, 2, … for several).")
    var firstRun: Int?

    @Flag(help: "Replace an export that exists.")
    var replace = false

    @Flag(help: "Export what can be read of a damaged session.")
    var allowDamaged = false

    func validate() throws {
        if let rate, !(rate.isFinite && rate > 0 && rate <= 1e6) {
            throw ValidationError("--rate must be a number of samples per second, up to 1,000,000")
        }
        if format != .bids, subject != nil || firstRun != nil {
            throw ValidationError("--subject and --run need --format bids")
        }
        if !countSteps.isEmpty, format != .csv, format != .bids {
            throw ValidationError("--count-steps needs --format csv or bids")
        }
        if placement != nil, countSteps.isEmpty { throw ValidationError("--placement needs --count-steps") }
        if let firstRun, firstRun < 0 { throw ValidationError("--run must not be negative") }
    }

    func run() throws {
        FileMode.applyStandard()
        try checkNames()
        var hasLoss = false
        for (number, session) in sessions.enumerated() {
            let outcome = try SessionDirectory.opening(session) { path throws(RecordingError) in
                try export(path, run: firstRun.map { $0 + number } ?? (sessions.count > 1 ? number + 1 : nil))
            }
            hasLoss = hasLoss || outcome.hasLoss
        }
        if hasLoss { throw ExitCode(ExitStatus.doneWithLoss.rawValue) }
    }

    /// Refuses two sessions of one name: the second export would replace the first.
    private func checkNames() throws {
        // BIDS numbers them as different runs.
        if format == .bids { return }
        var paths: [SessionIdentifier: String] = [:]
        for session in sessions {
            try SessionDirectory.opening(session) { path throws(RecordingError) in
                // The export itself reports an unreadable directory.
                guard let name = try? SessionDirectory(at: path).session,
                    let other = paths.updateValue(session, forKey: name)
                else { return }
                throw RecordingError(
                    .alreadyExists, action: "export", path: path, reason: "\(other) has the same name, \(name)",
                    advice: "Export them with separate commands, to different directories.")
            }
        }
    }

    private func export(_ path: FilePath, run: Int?) throws(RecordingError) -> SessionExport.Outcome {
        let session = try SessionDirectory(at: path)
        var options = SessionExport.Options(format: format)
        options.clock = clock ?? format.usualClock
        options.rate = rate
        options.subject = subject
        options.run = format == .bids ? run : nil
        options.streams = streams.isEmpty ? nil : streams
        options.countedStreams = countSteps
        options.placement = placement ?? .unknown
        options.replaces = replace
        options.acceptsDamage = allowDamaged
        let line = ByteProgress(session.session.text)
        defer { line.clear() }
        let outcome = try SessionExport(session, options, version: Version.current)
            .run(to: FilePath(to)) { line.show($1, of: $2, doing: $0.rawValue) }
        line.clear()
        let noun = outcome.samples == 1 ? "sample" : "samples"
        StandardStream.output.print(
            "\(session.session): \(outcome.samples) \(noun), \(ByteCount(bytes: outcome.bytes).rounded) in "
                + "\(outcome.files.count) files in \(to)\n")
        return outcome
    }
}

extension SessionExport.Format: ExpressibleByArgument {}
extension ExportClock: ExpressibleByArgument {}
extension SensorPlacement: ExpressibleByArgument {}
