import Files
import Messages
import Recording
import SystemPackage
import TestSupport

/// A JSON log that rotates when a test demands it.
final class RollingLog {
    let name = LogName("phone_gyro")
    private let directory: Directory
    private let fields: [String]
    private var formatter: RecordFormatter
    private var file: LogFile
    private var last: FinishedName?

    init(in directory: Directory, fields: [String] = ["uptime", "x", "y"]) throws {
        self.directory = directory
        self.fields = fields
        formatter = RecordFormatter(format: .json, sensorType: "gyro", fields: fields)
        file = try Self.open(name, in: directory)
    }

    /// Writes samples in one append.
    func append(_ rows: [[Double]]) throws {
        var buffer = ByteBuffer(capacity: 0)
        _ = Rows(values: rows).packed().withUnsafeBytes { bytes in
            formatter.append(
                packed: bytes, rows: 0..<rows.count, timeline: SessionTimeline(task: "Task", step: ""), origin: 0,
                to: &buffer)
        }
        try file.append(&buffer, samples: rows.count)
    }

    /// Finishes the file and begins the next one.
    @discardableResult
    func roll(at date: String = "2026-11-20T23:53:01Z") throws -> FinishedFile {
        let sealed = try file.seal(at: WallTime(iso8601: date), after: last)
        last = sealed.name
        file = try Self.open(name, in: directory)
        return try sealed.complete(hash: nil)
    }

    var path: FilePath { file.path }

    var finished: [FinishedName] {
        get throws { try directory.names().compactMap { FinishedName($0, of: name) }.sorted() }
    }

    func records(_ file: FinishedName) throws -> [LogItem] {
        try LogItem.read(directory.path.appending(file.description))
    }

    private static func open(_ name: LogName, in directory: Directory) throws -> LogFile {
        try LogFile(
            creating: name, in: directory, format: .json, root: .dictionary,
            startDate: "2026-11-20T23:53:01.000Z", header: "")
    }
}
