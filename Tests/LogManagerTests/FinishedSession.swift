import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport

/// A session's directory with finished log files, as a recorder leaves them: `session.json` lists them.
final class FinishedSession {
    let name: String
    private let data: FilePath
    private let directory: SessionDirectory
    private var record: SessionRecord
    private var last: [LogName: FinishedName] = [:]

    /// - Parameter status: of a session that is not over, files count once they are listed.
    init(_ name: String = "s", in data: FilePath, status: SessionStatus = .finished) throws {
        self.name = name
        self.data = data
        directory = try SessionDirectory.create(SessionIdentifier(name), in: data)
        record = SessionRecord(
            session: try SessionIdentifier(name), task: "Task", step: "", streams: ["phone/"], format: .json,
            root: .dictionary, status: status, startDate: try WallTime(iso8601: "2026-11-20T23:50:00Z"))
        try directory.write(record)
    }

    /// Where a file is under the data directory, as requests name it.
    func path(of file: String) -> String { directory.relativePath(of: file) }

    /// Where it is.
    func location(of file: String) -> FilePath { data.appending(path(of: file)) }

    /// Finishes a file of so many bytes.
    /// - Parameter isListed: whether `session.json` has it.
    /// - Returns: its path under the data directory.
    @discardableResult
    func finish(
        _ log: String = "phone_gyro", bytes: Int = 27, at date: String = "2026-11-20T23:53:01Z", isListed: Bool = true
    ) throws -> String {
        let log = LogName(log)
        let moment = try WallTime(iso8601: date)
        let file = FinishedName(log: log, finishedAt: moment, after: last[log], format: .json)
        last[log] = file
        try Data(repeating: UInt8(ascii: " "), count: bytes).write(
            to: URL(filePath: location(of: file.description).string))
        if isListed { try list(file.description, of: log) }
        return path(of: file.description)
    }

    /// Begins a file that is being written.
    func write(_ log: String = "phone_gyro", bytes: Int) throws {
        let name = LogName(log)
        index(of: name)
        try Data(count: bytes).write(to: URL(filePath: location(of: name.fileName(.json)).string))
        try directory.write(record)
    }

    /// What a recorder says of a file when it is finished.
    func event(_ path: String, log: String = "phone_gyro") throws -> SegmentFinished {
        let (bytes, sha256) = try FinishedFile.measure(data.appending(path))
        return SegmentFinished(
            source: "recorder", sequence: 0, session: name, log: log, path: path, bytes: bytes, samples: 1,
            sha256: sha256)
    }

    private func list(_ file: String, of log: LogName) throws {
        let (bytes, sha256) = try FinishedFile.measure(location(of: file))
        record.logs[index(of: log)].files.append(
            FinishedFile(name: file, bytes: bytes, samples: 1, sha256: sha256))
        try directory.write(record)
    }

    @discardableResult
    private func index(of log: LogName) -> Int {
        if let index = record.logs.firstIndex(where: { $0.name == log }) { return index }
        record.logs.append(
            SessionRecord.Log(name: log, device: "phone", stream: log.text, fields: ["uptime", "x"]))
        return record.logs.count - 1
    }
}
