import FoundationEssentials
import SystemPackage
import TestSupport

/// Spoils what a killed recorder left: a log file or the write-ahead log is cut, or has a flipped bit. `recorder recover` keeps
/// every record that is whole in either, and nothing else.
struct CutLogs: Experiment {
    let part: Double

    let name = "cut-logs"
    let fault = "a log file or the write-ahead log cut at a byte, or with a flipped bit; `recorder recover`"

    /// The way in which a file is spoiled.
    private enum Spoiling: CustomStringConvertible {
        /// A session's log file is shortened, without a write-ahead log.
        case fileCut(Int)
        /// The same, with the write-ahead log beside the session.
        case loggedFileCut(Int)
        case logCut(Int)
        case logFlip(byte: Int, bit: Int)

        var description: String {
            switch self {
            case .fileCut(let length): "its file cut to \(length) bytes, without the write-ahead log"
            case .loggedFileCut(let length): "its file cut to \(length) bytes, with the write-ahead log"
            case .logCut(let length): "the write-ahead log cut to \(length) bytes"
            case .logFlip(let byte, let bit): "bit \(bit) of byte \(byte) of the write-ahead log flipped"
            }
        }
    }

    private static let plans = [
        "array": SessionPlan(streams: ["phone/accelerometer"]),
        "dictionary": SessionPlan(streams: ["phone/accelerometer"], root: "dictionary"),
        "csv": SessionPlan(streams: ["phone/accelerometer"], format: "csv"),
        "tsv": SessionPlan(streams: ["phone/accelerometer"], format: "tsv"),
    ]
    private static let history = StreamHistory(device: "phone", stream: "accelerometer")

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            _ = try await rig.startRecorder().ready()
            for (session, plan) in Self.plans.sorted(by: { $0.key < $1.key }) { try await rig.start(session, plan) }
            try await Task.sleep(for: .milliseconds(300))
            for session in Self.plans.keys { try await rig.change(session, .step("\(SessionPlan.task)/s1")) }
            try await Task.sleep(for: .milliseconds(200))
            // Another epoch, so that the log has more than one kind of entry.
            try await rig.restartPublisher(by: .terminate)
            try await rig.catchUp()
            try await Task.sleep(for: .milliseconds(150))
            try await rig.killRecorder()
            guard let segment = try WriteAheadFiles(rig.data).segments.last else {
                throw Violation("the recorder left no write-ahead log")
            }
            row.notes.append("the write-ahead log has \(segment.bytes.count) bytes")
            var known: [String: [LogRecord]] = [:]
            for session in Self.plans.keys.sorted() { known[session] = try await logged(session, rig) }
            for number in 0..<lab.share(part, atLeast: 20) where row.violations.isEmpty {
                row.tries += 1
                guard let session = Self.plans.keys.sorted().randomElement(using: &random) else { continue }
                let count = try SessionFiles(rig.directory(of: session)).bytes(Self.file(of: session)).count
                let spoiling: Spoiling =
                    switch number % 4 {
                    case 0: .fileCut(Int.random(in: 0...count, using: &random))
                    case 1: .loggedFileCut(Int.random(in: 0...count, using: &random))
                    case 2: .logCut(Int.random(in: 0...segment.bytes.count, using: &random))
                    default:
                        .logFlip(
                            byte: Int.random(in: 0..<segment.bytes.count, using: &random),
                            bit: Int.random(in: 0..<8, using: &random))
                    }
                try await spoil(session, spoiling, segment, whole: known[session] ?? [], rig, &row)
            }
        }
    }

    private static func format(of session: String) -> String { plans[session]?.format ?? "json" }

    private static func file(of session: String) -> String {
        "\(SessionFiles.log(of: history)).\(format(of: session))"
    }

    private static func records(of session: String, in directory: FilePath) throws -> [LogRecord] {
        let files = try SessionFiles(directory)
        return try (files.logs[SessionFiles.log(of: history)] ?? []).flatMap { file in
            try LogText.records(files.bytes(file.name), format: format(of: session))
        }
    }

    /// The records that the session's files and the write-ahead log have together, both as the recorder left them.
    private func logged(_ session: String, _ rig: Rig) async throws -> [LogRecord] {
        let output = rig.directory.appending("whole-\(session)")
        let (end, text) = try await rig.lab.output(
            of: "recorder", ["recover", rig.directory(of: session).string, "--output", output.string])
        guard end == .exited(3) else { throw Violation("recorder recover of session \(session) \(end):\n\(text)") }
        let whole = try Self.records(of: session, in: output)
        let before = try Self.records(of: session, in: rig.directory(of: session))
        guard whole.count >= before.count, whole.prefix(before.count) == before[...] else {
            throw Violation("session \(session): its file and the write-ahead log disagree")
        }
        return whole
    }

    private func spoil(
        _ session: String, _ spoiling: Spoiling, _ segment: WriteAheadFiles.Segment, whole known: [LogRecord],
        _ rig: Rig,
        _ row: inout Row
    ) async throws {
        let original = rig.directory(of: session)
        let recordings = rig.directory.appending("spoiled/recordings")
        let copy = recordings.appending(session)
        let output = rig.directory.appending("recovered")
        for path in [rig.directory.appending("spoiled"), output] {
            try? FileManager.default.removeItem(atPath: path.string)
        }
        try FileManager.default.createDirectory(atPath: recordings.string, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: original.string, toPath: copy.string)
        let format = Self.format(of: session)
        let file = Self.file(of: session)
        let bytes = try SessionFiles(copy).bytes(file)
        let before = try LogText.records(bytes, format: format)
        var whole = before.count
        var log: [UInt8]? = segment.bytes
        switch spoiling {
        case .fileCut(let length), .loggedFileCut(let length):
            try Data(bytes.prefix(length)).write(to: URL(filePath: copy.appending(file).string))
            whole = Self.wholeRecords(in: bytes, before: length, format: format)
            if case .fileCut = spoiling { log = nil } else { whole = known.count }
        case .logCut(let length): log = Array(segment.bytes.prefix(length))
        case .logFlip(let byte, let bit): log?[byte] ^= 1 << UInt8(bit)
        }
        if let log { try WriteAheadFiles.write(log, named: segment.name, beside: recordings) }

        let start = ContinuousClock.now
        let (end, text) = try await rig.lab.output(
            of: "recorder", ["recover", copy.string, "--output", output.string])
        row.add(recovery: .now - start)
        let place = "session \(session), \(spoiling)"
        guard end == .exited(0) || end == .exited(3) else {
            return row.violations.append("\(place): recorder recover \(end):\n\(text)")
        }
        var after: [LogRecord] = []
        do { after = try Self.records(of: session, in: output) } catch {
            row.unreadable += 1
            return row.violations.append("\(place): what was recovered: \(error)")
        }
        let (verdict, why) = try await rig.lab.output(of: "recorder", ["verify", output.string])
        if verdict != .exited(3) { row.violations.append("\(place): recorder verify \(verdict):\n\(why)") }
        // It is unknown whether the last column of a table's last row was longer, so such a marker doesn't count; a sample's last
        // column is empty.
        if log == nil, format != "json", whole > 0, after.count < whole, !before[whole - 1].isSample { whole -= 1 }
        // The file and the log agree as far as both go; at most the records of both may come back.
        let samples = after.filter(\.isSample)
        let expected = known.prefix(whole).filter(\.isSample)
        row.samples += samples.count
        row.lost += max(0, expected.count - samples.count)
        if !known.filter(\.isSample).starts(with: samples) || samples.count < expected.count
            || log == nil && samples.count != expected.count
        {
            row.unexplained += max(1, expected.count - samples.count)
            row.violations.append(
                "\(place): \(expected.count) of \(known.count(where: \.isSample)) samples were whole, and "
                    + "\(samples.count) came back; the last ones are \(expected.suffix(1)) and \(samples.suffix(2))")
        }
    }

    /// How many records end before a position. Each has a line, and in JSON a comma after it.
    static func wholeRecords(in bytes: [UInt8], before length: Int, format: String) -> Int {
        var count = 0
        var start = 0
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != 0x0A { end += 1 }
            var line = bytes[start..<end]
            if format == "json" {
                if line.last == UInt8(ascii: ",") { line = line.dropLast() }
                if let opening = line.firstIndex(of: UInt8(ascii: "{")), line.last == UInt8(ascii: "}"),
                    line.endIndex <= length, line[opening...].starts(with: "{\"uptime\"".utf8)
                {
                    count += 1
                }
            } else if start > 0, !line.isEmpty, line.endIndex <= length {
                count += 1
            }
            start = end + 1
        }
        return count
    }
}
