import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage

@testable import Archives
@testable import Encryption

/// A finished session in its own data directory, as a recorder leaves it.
final class ArchivedSession {
    let data: FilePath
    let directory: SessionDirectory
    private(set) var record: SessionRecord

    /// - Parameters:
    ///   - results: JSON, as `recording.stop` carries it.
    ///   - start: the start time, in ISO 8601.
    init(
        _ name: String = "s1", in data: FilePath, task: String = "Walk", results: String? = nil,
        start: String = "2026-11-21T02:55:01.123456Z"
    ) throws {
        self.data = data
        record = SessionRecord(
            session: try SessionIdentifier(name), task: task, step: "out", streams: ["phone/"], format: .json,
            root: .array, status: .finished, startDate: try WallTime(iso8601: start))
        record.endDate = try WallTime(iso8601: "2026-11-21T02:56:01Z")
        record.results = try results.map { try WireCoding.decode(JSONValue.self, from: Array($0.utf8)) }
        directory = try SessionDirectory.create(record.session, in: data)
    }

    var archives: Directory { Directory(data.appending("archives")) }

    func path(_ name: String) -> FilePath { directory.directory.path.appending(name) }

    /// Adds a file that belongs to no stream.
    func add(_ name: String, _ bytes: some Sequence<UInt8>) throws {
        try Data(bytes).write(to: URL(filePath: path(name).string))
    }

    /// Adds a stream's next finished file, whose first sample has this number.
    func addLog(
        _ log: String = "phone_gyro", from sequence: Int = 0, samples: Int = 2, origin: DataOrigin? = nil
    ) throws {
        let date = WallTime(
            nanosecondsSince1970: record.startDate.nanosecondsSince1970 + Int64(sequence) * 10_000_000)
        var lines = [
            """
            {"uptime":\(sequence),"timestamp":0,"stepPath":"Walk/out","timestampDate":"\(date.utcText)","marker":"start",\
            "device":"phone","epoch":"E1","from":\(sequence)}
            """
        ]
        for index in sequence..<sequence + samples {
            lines.append(
                #"{"uptime":\#(index),"timestamp":\#(index),"stepPath":"Walk/out","sensorType":"gyro","x":0.5}"#)
        }
        let name = LogName(log)
        if !record.logs.contains(where: { $0.name == name }) {
            record.logs.append(SessionRecord.Log(name: name, device: "phone", stream: "gyro", fields: ["uptime", "x"]))
            let index = record.logs.count - 1
            var epoch = SessionRecord.Epoch(epoch: "E1", clock: ClockReading(uptime: 0, date: date), replay: "")
            epoch.origin = origin
            record.logs[index].epochs = [epoch]
        }
        guard let index = record.logs.firstIndex(where: { $0.name == name }) else { return }
        let last = record.logs[index].files.compactMap { FinishedName($0.name, of: name) }.max()
        let file = FinishedName(log: name, finishedAt: date, after: last, format: .json).description
        try add(file, "[\n\(lines.joined(separator: ",\n"))\n]".utf8)
        let (bytes, sha256) = try FinishedFile.measure(path(file))
        record.logs[index].files.append(
            FinishedFile(name: file, bytes: bytes, samples: samples, sha256: sha256))
    }

    /// Removes the first remaining stream file, as log-manager does.
    func removeFile(reason: String = "whenFull", uploaded: WallTime? = nil) throws {
        guard let file = record.logs.flatMap(\.files).first(where: { directory.isFile($0.name) }) else { return }
        try RemovedFile.append(
            [RemovedFile(name: file.name, bytes: file.bytes, reason: reason, date: .now, uploaded: uploaded)],
            in: directory.directory)
        try Directory.removeFile(path(file.name))
    }

    /// Records a gap in the first stream.
    func addGap(from sequence: Int) {
        record.logs[0].gaps.append(Gap(epoch: "E1", from: sequence, count: 1, reason: .notRetained))
    }

    /// Writes a recorder's last files of a session.
    func finish(status: SessionStatus = .finished, hasChecksums: Bool = true) throws {
        record.status = status
        try directory.write(record)
        try directory.write(SessionReport(record))
        if hasChecksums { try directory.writeChecksums() }
    }

    @discardableResult
    func archive(
        _ choices: ArchiveChoices = ArchiveChoices(), recipients: [Certificate] = [], calls: FileCalls = .system
    ) throws(ArchiveError) -> [MadeArchive] {
        try SessionArchiver(choices: choices, recipients: recipients, calls: calls).archive(
            directory, to: archives, at: .now)
    }

    /// The bytes of every file of the session, by name.
    var contents: [String: Data] {
        get throws {
            var contents: [String: Data] = [:]
            for name in try directory.directory.names() where directory.isFile(name) {
                contents[name] = try Data(contentsOf: URL(filePath: path(name).string))
            }
            return contents
        }
    }
}

/// A directory with the extracted files of an archive.
struct ExtractedArchive {
    let path: FilePath

    /// Extracts an archive, which must be complete.
    init(_ archive: String, of session: ArchivedSession, key: PrivateKey? = nil) throws {
        path = session.data.appending("extracted-\(archive)")
        let opened = try ArchiveExtraction.extract(session.archives.path.appending(archive), to: path, key: key)
        if !opened.findings.isEmpty { throw ArchiveError(.damaged, "\(opened.findings)") }
    }

    var names: [String] { get throws { try Directory(path).names().sorted() } }

    func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: path.appending(name).string)) }

    func json(_ name: String) throws -> JSONValue { try WireCoding.decode(JSONValue.self, from: bytes(name)) }

    func metadata() throws -> ArchiveMetadata {
        try WireCoding.decode(ArchiveMetadata.self, from: bytes("metadata.json"))
    }
}
