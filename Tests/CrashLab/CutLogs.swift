import FoundationEssentials
import SystemPackage
import TestSupport

/// Logs and the journal of a session that was cut off, shortened to every length: `recorder recover` keeps each record
/// that is still whole, and nothing else.
struct CutLogs: Experiment {
    let part: Double

    let name = "cut-logs"
    let fault = "a log or the journal cut at a byte"

    private static let plans = [
        "array": SessionPlan(streams: ["phone/accelerometer"]),
        "dictionary": SessionPlan(streams: ["phone/accelerometer"], root: "dictionary"),
        "csv": SessionPlan(streams: ["phone/accelerometer"], format: "csv"),
        "tsv": SessionPlan(streams: ["phone/accelerometer"], format: "tsv"),
    ]

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            _ = try await rig.startRecorder().ready()
            for (session, plan) in Self.plans.sorted(by: { $0.key < $1.key }) { try await rig.start(session, plan) }
            try await Task.sleep(for: .milliseconds(300))
            for session in Self.plans.keys { try await rig.change(session, .step("\(SessionPlan.task)/s1")) }
            try await Task.sleep(for: .milliseconds(200))
            // Another epoch, so that a journal and a log say more than one thing.
            try await rig.restartPublisher(by: .terminate)
            try await rig.catchUp()
            try await Task.sleep(for: .milliseconds(150))
            try await rig.killRecorder()
            var cases = try Self.plans.keys.sorted().flatMap { session in
                let log = SessionFiles.log(of: StreamHistory(device: "phone", stream: "accelerometer"))
                let file = "\(log).\(Self.plans[session]?.format ?? "json")"
                return try [file, "journal.ndjson"].flatMap { name in
                    let count = try SessionFiles(rig.directory(of: session)).bytes(name).count
                    return (0...count).map { (session, name, $0) }
                }
            }
            cases.shuffle(using: &random)
            let wanted = min(cases.count, lab.share(part, atLeast: 20))
            row.notes.append("\(wanted) of \(cases.count) lengths")
            for (session, file, length) in cases.prefix(wanted) where row.violations.isEmpty {
                row.tries += 1
                try await cut(session, file, to: length, rig, &row)
            }
        }
    }

    private func cut(
        _ session: String, _ file: String, to length: Int, _ rig: Rig, _ row: inout Row
    ) async throws {
        let format = Self.plans[session]?.format ?? "json"
        let original = rig.directory(of: session)
        let copy = rig.directory.appending("cut").appending(session)
        let output = rig.directory.appending("recovered")
        for path in [rig.directory.appending("cut"), output] {
            try? FileManager.default.removeItem(atPath: path.string)
        }
        try FileManager.default.createDirectory(
            atPath: rig.directory.appending("cut").string, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: original.string, toPath: copy.string)
        let bytes = try SessionFiles(copy).bytes(file)
        try Data(bytes.prefix(length)).write(to: URL(filePath: copy.appending(file).string))

        let start = ContinuousClock.now
        let (end, text) = try await rig.lab.output(
            of: "recorder", ["recover", copy.string, "--output", output.string])
        row.add(recovery: .now - start)
        let place = "session \(session), \(file) cut to \(length) of \(bytes.count) bytes"
        // Without the journal it can't be proven that nothing is missing.
        let isLog = file != "journal.ndjson"
        guard end == .exited(0) || end == .exited(3) || (!isLog && end == .exited(1)) else {
            return row.violations.append("\(place): recorder recover \(end):\n\(text)")
        }
        let log = SessionFiles.log(of: StreamHistory(device: "phone", stream: "accelerometer"))
        let before = try LogText.records(
            SessionFiles(original).bytes("\(log).\(format)"), format: format)
        var whole = isLog ? Self.wholeRecords(in: bytes, before: length, format: format) : before.count
        var after: [LogRecord] = []
        do {
            let files = try SessionFiles(output)
            for file in files.logs[log] ?? [] {
                after += try LogText.records(files.bytes(file.name), format: format)
            }
        } catch {
            row.unreadable += 1
            return row.violations.append("\(place): what was recovered: \(error)")
        }
        // Whether the last column of a table's last row was longer can't be told; a sample's is empty.
        if isLog, format != "json", whole > 0, after.count < whole, !before[whole - 1].isSample { whole -= 1 }
        row.samples += after.count(where: \.isSample)
        let lost = before.prefix(whole).count(where: \.isSample) - after.count(where: \.isSample)
        row.lost += max(0, lost)
        let added = after.dropFirst(whole)
        // A file of which not even the beginning is left is made anew, with a marker of its own.
        let isAnew = whole == 0
        if !isAnew && after.prefix(whole) != before.prefix(whole) || lost != 0 || added.contains(where: \.isSample) {
            row.unexplained += max(1, lost)
            row.violations.append(
                "\(place): \(whole) records were whole, and \(after.count) came back; the last ones are "
                    + "\(before.prefix(whole).suffix(1)) and \(after.suffix(2))")
        }
    }

    /// How many records end before a place. Each has a line, and in JSON a comma after it.
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
