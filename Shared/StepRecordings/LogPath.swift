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
        finished = FinishedName(fileName: name.utf8)
        if let finished {
            log = Log(path: directory.appending(finished.log.text).string, format: finished.format)
        } else {
            let file = FilePath.Component(name)
            log = Log(
                path: directory.appending(file?.stem ?? name).string,
                format: file?.extension.flatMap(LogFormat.init(rawValue:)))
        }
    }
}
