import Glibc
import Messages
import Recording
import SystemPackage

/// A session's directory with files as a recorder leaves them; their bytes mean nothing.
struct StoredSession {
    let data: FilePath
    let identifier: SessionIdentifier
    let directory: SessionDirectory
    var record: SessionRecord

    /// Makes the directory and its `session.json`.
    init(
        _ name: String, in data: FilePath, status: SessionStatus = .finished,
        logs: [String] = ["phone_gyro", "watch_gyro"]
    ) throws {
        self.data = data
        identifier = try SessionIdentifier(name)
        directory = try SessionDirectory.create(identifier, in: data)
        record = SessionRecord(
            session: identifier, task: "", step: "", streams: [], format: .json, root: .dictionary, status: status,
            startDate: WallTime(nanosecondsSince1970: 0))
        record.logs = logs.map {
            SessionRecord.Log(name: LogName($0), device: "phone", stream: "gyro", fields: ["uptime"])
        }
        try directory.write(record)
    }

    /// Where a file of the session is.
    func path(of name: String) -> FilePath { directory.directory.path.appending(name) }

    /// The path of a file as people write it.
    func wirePath(of name: String) -> String { "recordings/\(identifier)/\(name)" }

    /// Makes a file of so many bytes, or replaces it by another one.
    /// - Parameter modified: nanoseconds since 1970; the present where it is left out.
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

    /// Adds a byte to a file.
    func append(to name: String) throws {
        let file = open(path(of: name).string, O_WRONLY | O_APPEND)
        guard file >= 0, Glibc.write(file, "x", 1) == 1 else { throw Errno(rawValue: errno) }
        close(file)
    }

    /// Lists a file in `session.json`, with a hash that is made up.
    mutating func list(_ name: String, bytes: Int = 40, of log: Int = 0, sha256: String? = nil) throws {
        record.logs[log].files.append(
            FinishedFile(
                name: name, bytes: bytes, samples: 1, sha256: sha256 ?? String(repeating: "0f", count: 32)))
        try directory.write(record)
    }

    /// Whether there is anything of that name.
    func has(_ name: String) -> Bool {
        var status = stat()
        return lstat(path(of: name).string, &status) == 0
    }

    private static func touch(_ file: Int32, _ modified: Int64) throws {
        let time = timespec(tv_sec: Int(modified / 1_000_000_000), tv_nsec: Int(modified % 1_000_000_000))
        guard futimens(file, [time, time]) == 0 else { throw Errno(rawValue: errno) }
    }
}
