import FoundationEssentials
import Messages
import SystemPackage

/// The state at a quiet moment: on the disk, and as log-manager reports it.
struct CustodyView: Sendable {
    /// A file as listed by `logs.list`.
    struct Listed: Hashable, Sendable {
        var path: String
        var bytes: Int
        var isUploaded: Bool
        var receipt: JSONValue?
    }

    /// A line of `removed.ndjson`.
    struct Removed: Hashable, Sendable {
        var bytes: Int
        var sha256: String?
        var isUploaded: Bool
        var receipt: Int?
    }

    /// The sizes of the existing finished files, by path.
    var disk: [String: Int]
    var removed: [String: [Removed]]
    var sessions: Set<String> = []
    /// The sessions whose removal has begun.
    var unfinished: [String] = []
    var listed: [Listed] = []
    var totalBytes = 0
    var pendingBytes = 0
    var names: [String] = []

    /// Reads the state from the disk.
    init(disk data: FilePath) throws {
        disk = [:]
        removed = [:]
        // A session is renamed before it is removed.
        unfinished = try FileManager.default.contentsOfDirectory(
            atPath: data.appending(CustodyFile.recordings).string
        ).filter { $0.hasPrefix("~") }
        for session in try SessionFiles.sessions(in: data) {
            sessions.insert(session)
            let files = try SessionFiles(data.appending(CustodyFile.recordings).appending(session))
            func path(_ name: String) -> String { "\(CustodyFile.recordings)/\(session)/\(name)" }
            for file in files.logs.values.joined() where file.finished != nil {
                disk[path(file.name)] = try CustodyFile.status(of: files.directory.appending(file.name)).bytes
            }
            guard files.names.contains("removed.ndjson") else { continue }
            // A torn line at the end is ignored.
            for line in try files.bytes("removed.ndjson").split(separator: UInt8(ascii: "\n")) {
                guard let value = try? StrictJSON(line), let name = value["name"]?.string else { continue }
                removed[path(name), default: []].append(
                    Removed(
                        bytes: value["bytes"]?.integer ?? -1, sha256: value["sha256"]?.string,
                        isUploaded: value["uploaded"] != nil, receipt: value["receipt"]?["id"]?.integer))
            }
        }
    }

    /// A synthetic view, for tests.
    init(disk: [String: Int], removed: [String: [Removed]] = [:], sessions: Set<String>) {
        self.sessions = sessions
        self.disk = disk
        self.removed = removed
    }
}
