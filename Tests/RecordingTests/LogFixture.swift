import Files
import Foundation
import Messages
import Recording
import SystemPackage
import Testing

/// A log like those in the upstream tests, in each format.
struct LogFixture {
    static let date = "2017-10-16T22:28:09.000-07:00"

    let name = LogName("phone_accelerometer")

    func makeFile(
        in directory: Directory, _ format: LogFormat = .json, _ root: JSONRoot = .array, calls: FileCalls = .system
    ) throws(RecordingError) -> LogFile {
        try LogFile(
            creating: name, in: directory, format: format, root: root, startDate: Self.date,
            header: RecordFormatter(format: format, sensorType: "accelerometer", fields: ["uptime", "x"]).header,
            calls: calls)
    }

    /// Marker, two samples, marker, one sample. Each batch is one append.
    func batches(_ format: LogFormat) -> [(text: String, samples: Int)] {
        var formatter = RecordFormatter(format: format, sensorType: "accelerometer", fields: ["uptime", "x"])
        var timeline = SessionTimeline(task: "Task", step: "step1")
        let start = formatter.text(Marker(.start, time: 0, date: Self.date, stepPath: "Task/step1"))
        let first = formatter.text(packed: Rows(values: [[0.01, 1.2], [0.02, 1.3]]), timeline: timeline).text
        timeline.move(to: "step2", at: 30_000_000)
        let step = formatter.text(Marker(.step, time: 30_000_000, date: Self.date, stepPath: "Task/step2"))
        let second = formatter.text(packed: Rows(values: [[0.03, 1.4]]), timeline: timeline).text
        return [(start, 0), (first, 2), (step, 0), (second, 1)]
    }

    /// Appends a batch, and checks the state of the buffer afterwards.
    func append(_ batch: (text: String, samples: Int), to file: LogFile) throws(RecordingError) {
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(utf8: batch.text)
        do {
            try file.append(&buffer, samples: batch.samples)
        } catch {
            #expect(buffer.text == batch.text)
            throw error
        }
        #expect(buffer.count == 0)
    }

    /// The expected text of a file with these batches.
    func wholeText(
        of batches: [(text: String, samples: Int)], _ format: LogFormat, _ root: JSONRoot
    ) throws -> String {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, format, root)
            for batch in batches { try append(batch, to: file) }
            return try text(of: file.path)
        }
    }

    /// The number of records in a file, read by an independent parser.
    func records(of path: FilePath) throws -> Int {
        let text = try text(of: path)
        guard path.extension == "json" else {
            return text.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        }
        let root = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let items = (root as? [String: Any])?["items"] ?? root
        return try #require(items as? [[String: Any]]).count
    }
}
