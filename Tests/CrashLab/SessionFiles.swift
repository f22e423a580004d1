import FoundationEssentials
import SystemPackage

/// A session's directory as read from outside, using only the rules for its file names.
struct SessionFiles {
    /// A log's file.
    struct File: Hashable {
        let name: String
        /// The stamp and the number in a finished file's name; nil for the file being written.
        let finished: [UInt64]?
    }

    let directory: FilePath
    /// The files of each log, in order; the file being written is last.
    let logs: [String: [File]]
    /// The names of all files in the directory.
    let names: [String]

    /// Lists a directory.
    /// - Throws: if it can't be listed.
    init(_ directory: FilePath) throws {
        self.directory = directory
        names = try FileManager.default.contentsOfDirectory(atPath: directory.string).sorted()
        var logs: [String: [File]] = [:]
        for name in names {
            guard let (log, file) = Self.logFile(name) else { continue }
            logs[log, default: []].append(file)
        }
        self.logs = logs.mapValues { files in
            files.sorted { left, right in
                guard let left = left.finished else { return false }
                guard let right = right.finished else { return true }
                return left.lexicographicallyPrecedes(right)
            }
        }
    }

    /// The name of a stream's log.
    static func log(of history: StreamHistory) -> String { "\(history.device)_\(history.stream)" }

    func bytes(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(filePath: directory.appending(name).string)))
    }

    func json(_ name: String) throws -> StrictJSON { try StrictJSON(bytes(name)) }

    private static func logFile(_ name: String) -> (String, File)? {
        guard !name.hasPrefix("."), let dot = name.lastIndex(of: "."),
            ["json", "csv", "tsv"].contains(name[name.index(after: dot)...]),
            !["session.json", "report.json"].contains(name)
        else { return nil }
        let parts = name[..<dot].split(separator: "-", omittingEmptySubsequences: false)
        func isStamp(_ index: Int) -> Bool {
            index > 0 && index < parts.count && parts[index].count == 14 && UInt64(parts[index]) != nil
        }
        for (index, isCounted) in [(parts.count - 1, false), (parts.count - 2, true)] where isStamp(index) {
            let number = isCounted ? UInt64(parts[index + 1]) : 0
            guard let stamp = UInt64(parts[index]), let number else { continue }
            return (
                parts[..<index].joined(separator: "-"), File(name: name, finished: [stamp, number])
            )
        }
        return (String(name[..<dot]), File(name: name, finished: nil))
    }
}
