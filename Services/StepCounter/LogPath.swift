import Recording
import SystemPackage

/// The path of a file that may be one of a log's, which the recorder writes one after the other.
struct LogPath: Hashable {
    /// What the files of a log have in common.
    struct Log: Hashable {
        /// Its directory and name.
        let path: String
        let format: LogFormat?
    }

    let path: String
    let log: Log
    /// The name of a finished file; nil for any other.
    let finished: FinishedName?

    /// Looks at a path's last part; one that ends in `.gz` is as the file that was compressed.
    init(_ path: String) {
        self.path = path
        let directory = FilePath(path).removingLastComponent()
        var name = FilePath(path).lastComponent?.string ?? ""
        if name.hasSuffix(".gz") { name.removeLast(3) }
        finished = Self.finished(name)
        if let finished {
            log = Log(path: directory.appending(finished.log.text).string, format: finished.format)
        } else {
            let file = FilePath.Component(name)
            log = Log(
                path: directory.appending(file?.stem ?? name).string,
                format: file?.extension.flatMap(LogFormat.init(rawValue:)))
        }
    }

    /// Reads a finished file's name: which of its dashes ends the log's name, the stamp behind it tells.
    private static func finished(_ name: String) -> FinishedName? {
        for dash in name.indices where name[dash] == "-" {
            if let log = LogName(existing: String(name[..<dash])), let finished = FinishedName(name, of: log) {
                return finished
            }
        }
        return nil
    }
}
