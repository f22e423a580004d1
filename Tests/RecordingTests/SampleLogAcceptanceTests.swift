import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// The cases of the ancestors' sample log, with their numbers in SEEDS: a marker, two samples, a marker, a sample.
///
/// Ours: a sample's text is its sensor type, in place of the ancestors' label.
@Suite(.timeLimit(.minutes(5)))
struct SampleLogAcceptanceTests {
    private static let date = "2017-10-16T22:28:09.000-07:00"
    private static let items = [
        LogItem(uptime: 0, timestamp: 0, stepPath: "Task/step1", timestampDate: date, marker: "start"),
        LogItem(uptime: 0.01, timestamp: 0.01, stepPath: "Task/step1", sensorType: "booRa", x: 1.2, y: 3.4, z: 5.6),
        LogItem(uptime: 0.02, timestamp: 0.02, stepPath: "Task/step1", sensorType: "booRa", x: 1, y: 0, z: -1),
        LogItem(uptime: 0.03, timestamp: 0.03, stepPath: "Task/step2", timestampDate: date, marker: "step"),
        LogItem(uptime: 0.04, timestamp: 0.04, stepPath: "Task/step2", sensorType: "booRa", x: 2, y: 3, z: 4),
    ]

    @Test func case28RootDictionaryHasItsFiveItems() throws {
        try withLog(.json, .dictionary) { path in
            let bytes = try Data(contentsOf: URL(filePath: path.string))
            let root = try JSONDecoder().decode(LogItem.Root.self, from: bytes)
            #expect(root.startDate == Self.date)
            #expect(root.items == Self.items)
        }
    }

    @Test func case29RootArrayHasItsFiveItems() throws {
        try withLog(.json, .array) { path in
            let bytes = try Data(contentsOf: URL(filePath: path.string))
            #expect(try JSONDecoder().decode([LogItem].self, from: bytes) == Self.items)
        }
    }

    /// Ours: the columns of markers and samples are side by side; columns that a record lacks are empty.
    @Test(arguments: [LogFormat.csv, .tsv])
    func case30ATableHasSixLines(format: LogFormat) throws {
        try withLog(format, .array) { path in
            let lines = try text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 6)
            let rows = lines.map { line in
                line.split(separator: format == .csv ? "," : "\t", omittingEmptySubsequences: false).map(String.init)
            }
            let header = rows[0]
            #expect(header.starts(with: ["uptime", "timestamp", "stepPath", "sensorType", "x", "y", "z"]))
            #expect(rows.allSatisfy { $0.count == header.count })
            func row(_ index: Int) -> [String: String] {
                Dictionary(uniqueKeysWithValues: zip(header, rows[index]).filter { !$0.1.isEmpty })
            }
            #expect(
                row(1) == [
                    "uptime": "0", "timestamp": "0", "stepPath": "Task/step1", "timestampDate": Self.date,
                    "marker": "start",
                ])
            #expect(
                row(2) == [
                    "uptime": "0.01", "timestamp": "0.01", "stepPath": "Task/step1", "sensorType": "booRa", "x": "1.2",
                    "y": "3.4", "z": "5.6",
                ])
        }
    }

    /// Ours: each file can be read alone, so every table has a header; the five lines follow it.
    @Test(arguments: [LogFormat.csv, .tsv])
    func case31BehindTheHeaderAreFiveLinesAndTheFirstIsTheMarker(format: LogFormat) throws {
        try withLog(format, .array) { path in
            let header = RecordFormatter(format: format, sensorType: "booRa", fields: ["uptime", "x", "y", "z"]).header
            let whole = try text(of: path)
            try #require(whole.hasPrefix(header + "\n"))
            let lines = whole.dropFirst(header.count + 1).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 5)
            #expect(lines[0].contains("start"))
            #expect(!lines[0].contains("booRa"))
        }
    }

    private func withLog(_ format: LogFormat, _ root: JSONRoot, _ body: (FilePath) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            var formatter = RecordFormatter(format: format, sensorType: "booRa", fields: ["uptime", "x", "y", "z"])
            let file = try LogFile(
                creating: LogName("walk"), in: directory, format: format, root: root, startDate: Self.date,
                header: formatter.header)
            var timeline = SessionTimeline(task: "Task", step: "step1")
            let start = formatter.text(Marker(.start, time: 0, date: Self.date, stepPath: "Task/step1"))
            let first = Rows(values: [[0.01, 1.2, 3.4, 5.6], [0.02, 1, 0, -1]])
            let two = formatter.text(packed: first, timeline: timeline).text
            timeline.move(to: "step2", at: 30_000_000)
            let step = formatter.text(Marker(.step, time: 30_000_000, date: Self.date, stepPath: "Task/step2"))
            let one = formatter.text(packed: Rows(values: [[0.04, 2, 3, 4]]), timeline: timeline).text
            for (records, samples) in [(start, 0), (two, 2), (step, 0), (one, 1)] {
                var buffer = ByteBuffer(capacity: 0)
                buffer.append(utf8: records)
                try file.append(&buffer, samples: samples)
            }
            try body(file.path)
        }
    }
}
