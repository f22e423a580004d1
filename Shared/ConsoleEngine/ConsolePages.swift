import CConsolePages
import Files
import ServiceKit
import SystemPackage
import WebServer

/// The page's files, read once: paths are looked up among their names and never lead to the disk.
struct ConsolePages: Sendable {
    /// The files in the program.
    static var embedded: [PageFile] { PageFile.embedded(holdfast_console_pages()) }

    private var responses: [String: WebResponse] = [:]

    /// Reads the files of a directory.
    /// - Parameter folder: nil for those in the program.
    /// - Throws: `RecordingError` if they can't be read, `ServiceError` (bad configuration) if there is no `index.html`.
    init(in folder: FilePath?) throws {
        if let folder {
            let directory = Directory(folder)
            for name in try directory.names() { add(PageFile(name: name, body: try directory.read(name))) }
        } else {
            for file in Self.embedded { add(file) }
        }
        guard responses["/"] != nil else {
            throw ServiceError(.badConfiguration, "there is no index.html in \(folder?.string ?? "the program")")
        }
    }

    private mutating func add(_ file: PageFile) {
        responses[file.name == "index.html" ? "/" : "/assets/\(file.name)"] = file.response
    }

    /// What a path answers; nil for nothing.
    subscript(path: String) -> WebResponse? { responses[path] }
}
