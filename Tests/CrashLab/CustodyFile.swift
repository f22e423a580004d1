import FoundationEssentials
import Glibc
import SystemPackage

/// A finished file of a finished session, as a recorder left it.
struct CustodyFile: Hashable, Sendable {
    /// The path relative to the data directory.
    let path: String
    let session: String
    let log: String
    let bytes: Int
    let sha256: String
    /// When the file was finished, in nanoseconds since 1970.
    var finished: Int64

    /// The directory of all sessions, relative to the data directory.
    static let recordings = "recordings"

    /// All finished files of a data directory, oldest first.
    ///
    /// A file's modification time counts if it is within the second of the file's name; each file of a log is later than the one
    /// before it. Files of the same moment are ordered by path.
    static func all(in data: FilePath) throws -> [CustodyFile] {
        let recordings = data.appending(Self.recordings)
        var all: [CustodyFile] = []
        for session in try SessionFiles.sessions(in: data) {
            let files = try SessionFiles(recordings.appending(session))
            let listed = try hashes(in: files.json("session.json"))
            for (log, segments) in files.logs {
                var last = Int64.min
                for file in segments {
                    guard let stamp = file.finished?.first else {
                        throw Violation("session \(session) is over, and \(file.name) is not finished")
                    }
                    guard let sha256 = listed[file.name] else {
                        throw Violation("session.json of \(session) does not have \(file.name)")
                    }
                    let (bytes, modified) = try status(of: files.directory.appending(file.name))
                    let second = second(of: stamp)
                    last = max(last + 1, min(max(modified, second), second + 999_999_999))
                    all.append(
                        CustodyFile(
                            path: "\(Self.recordings)/\(session)/\(file.name)", session: session, log: log,
                            bytes: bytes, sha256: sha256, finished: last))
                }
            }
        }
        return all.sorted { ($0.finished, $0.path) < ($1.finished, $1.path) }
    }

    /// The total bytes of the sessions' files other than the finished ones.
    static func otherBytes(in data: FilePath) throws -> Int {
        var bytes = 0
        for session in try SessionFiles.sessions(in: data) {
            let files = try SessionFiles(data.appending(recordings).appending(session))
            let logs = Set(files.logs.values.joined().map(\.name))
            for name in files.names where !logs.contains(name) {
                bytes += try status(of: files.directory.appending(name)).bytes
            }
        }
        return bytes
    }

    /// The beginning of a stamp's second, in nanoseconds since 1970.
    private static func second(of stamp: UInt64) -> Int64 {
        func part(_ divisor: UInt64, _ modulus: UInt64) -> Int32 { Int32(stamp / divisor % modulus) }
        var date = tm()
        date.tm_year = part(10_000_000_000, 10_000) - 1_900
        date.tm_mon = part(100_000_000, 100) - 1
        date.tm_mday = part(1_000_000, 100)
        date.tm_hour = part(10_000, 100)
        date.tm_min = part(100, 100)
        date.tm_sec = part(1, 100)
        return Int64(timegm(&date)) * 1_000_000_000
    }

    /// A file's size, and its modification time in nanoseconds since 1970.
    static func status(of path: FilePath) throws -> (bytes: Int, modified: Int64) {
        var status = stat()
        guard lstat(path.string, &status) == 0 else { throw Violation("\(path): \(Errno(rawValue: errno))") }
        return (
            Int(status.st_size), Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        )
    }

    private static func hashes(in record: StrictJSON) throws -> [String: String] {
        var hashes: [String: String] = [:]
        for file in (record["logs"]?.array ?? []).flatMap({ $0["files"]?.array ?? [] }) {
            if let name = file["name"]?.string { hashes[name] = file["sha256"]?.string }
        }
        return hashes
    }
}

extension SessionFiles {
    /// The sessions of a data directory, by name.
    static func sessions(in data: FilePath) throws -> [String] {
        let recordings = data.appending(CustodyFile.recordings)
        return try FileManager.default.contentsOfDirectory(atPath: recordings.string).filter { name in
            !name.hasPrefix("~")
                && FileManager.default.fileExists(
                    atPath: recordings.appending(name).appending("session.json").string)
        }.sorted()
    }
}
