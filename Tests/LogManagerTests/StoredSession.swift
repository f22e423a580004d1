import Files
import Glibc
import Messages
import Recording
import SystemPackage

/// A session's directory with files as a recorder leaves them; their contents are arbitrary.
final class StoredSession {
    let data: FilePath
    let identifier: SessionIdentifier
    let directory: SessionDirectory
    var record: SessionRecord
    /// The last finished file of each log.
    private var last: [LogName: FinishedName] = [:]

    /// Makes the directory and its `session.json`.
    init(
        _ name: String = "s", in data: FilePath, status: SessionStatus = .finished,
        logs: [String] = ["phone_gyro", "watch_gyro"]
    ) throws {
        self.data = data
        identifier = try SessionIdentifier(name)
        directory = try SessionDirectory.create(identifier, in: data)
        record = SessionRecord(
            session: identifier, task: "", step: "", streams: [], format: .json, root: .dictionary, status: status,
            startDate: WallTime(nanosecondsSince1970: 0))
        for log in logs { index(of: LogName(log)) }
        try directory.write(record)
    }

    /// The path of a file of the session.
    func path(of name: String) -> FilePath { directory.directory.path.appending(name) }

    /// The path of a file as requests name it.
    func wirePath(of name: String) -> String { "recordings/\(identifier)/\(name)" }

    /// Makes or replaces a file of this many bytes.
    /// - Parameter modified: nanoseconds since 1970; now if omitted.
    @discardableResult
    func write(_ name: String, bytes: Int = 40, modified: Int64? = nil) throws -> String {
        let path = path(of: name)
        unlink(path.string)
        let file = open(path.string, O_WRONLY | O_CREAT | O_EXCL, 0o644)
        guard file >= 0, ftruncate(file, bytes) == 0 else { throw Errno(rawValue: errno) }
        if let modified { try Self.touch(file, modified) }
        close(file)
        return wirePath(of: name)
    }

    func append(to name: String) throws {
        let file = open(path(of: name).string, O_WRONLY | O_APPEND)
        guard file >= 0, Glibc.write(file, "x", 1) == 1 else { throw Errno(rawValue: errno) }
        close(file)
    }

    /// Lists a file in `session.json`, with a made-up hash.
    func list(_ name: String, bytes: Int = 40, of log: Int = 0, sha256: String? = nil) throws {
        record.logs[log].files.append(
            FinishedFile(
                name: name, bytes: bytes, samples: 1, sha256: sha256 ?? String(repeating: "0f", count: 32)))
        try directory.write(record)
    }

    /// Finishes a file of this many bytes as a recorder does: it has the next name of its log, and `session.json` lists it.
    /// - Returns: its path as requests name it.
    @discardableResult
    func finish(
        _ log: String = "phone_gyro", bytes: Int = 27, at date: String = "2026-11-20T23:53:01Z"
    ) throws -> String {
        let log = LogName(log)
        let file = FinishedName(log: log, finishedAt: try WallTime(iso8601: date), after: last[log], format: .json)
        last[log] = file
        let name = file.description
        try write(name, bytes: bytes)
        try list(name, bytes: bytes, of: index(of: log), sha256: FinishedFile.measure(path(of: name)).sha256)
        return wirePath(of: name)
    }

    /// A recorder's event for a finished file.
    func event(_ path: String) throws -> SegmentFinished {
        let (bytes, sha256) = try FinishedFile.measure(data.appending(path))
        return SegmentFinished(
            source: "recorder", sequence: 0, session: identifier.text, log: "phone_gyro", path: path, bytes: bytes,
            samples: 1, sha256: sha256)
    }

    /// Whether anything of that name exists.
    func has(_ name: String) -> Bool {
        var status = stat()
        return lstat(path(of: name).string, &status) == 0
    }

    /// The index of a log in the record, where it is added if missing.
    @discardableResult
    private func index(of log: LogName) -> Int {
        if let index = record.logs.firstIndex(where: { $0.name == log }) { return index }
        record.logs.append(SessionRecord.Log(name: log, device: "phone", stream: "gyro", fields: ["uptime"]))
        return record.logs.count - 1
    }

    private static func touch(_ file: Int32, _ modified: Int64) throws {
        let time = timespec(tv_sec: Int(modified / 1_000_000_000), tv_nsec: Int(modified % 1_000_000_000))
        guard futimens(file, [time, time]) == 0 else { throw Errno(rawValue: errno) }
    }
}
