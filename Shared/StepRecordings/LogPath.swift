import Recording
import SystemPackage

/// The path of a file that may belong to a stream, for which the recorder writes one file after the other.
struct LogPath: Hashable {
    /// The common part of a stream's files.
    struct Log: Hashable {
        /// The directory and the stream's file name without number and extension.
        let path: String
        let format: LogFormat?
    }

    let path: String
    let log: Log
    /// The name of a finished file; nil for any other.
    let finished: FinishedName?

    /// Parses the last component of a path; `.gz` at its end is ignored.
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
