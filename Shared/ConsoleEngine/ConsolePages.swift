import CConsolePages
import Files
import ServiceKit
import SystemPackage
import WebServer

/// The page's files, read once. Request paths are looked up in memory and never reach the disk.
struct ConsolePages: Sendable {
    /// The files built into the program.
    static var embedded: [PageFile] { PageFile.embedded(holdfast_console_pages()) }

    private var responses: [String: WebResponse] = [:]

    /// Reads the files of a directory.
    /// - Parameter folder: nil for the built-in files.
    /// - Throws: `RecordingError` if they can't be read, `ServiceError` (bad configuration) if `index.html` is missing.
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

    /// The response for a path; nil if there is no such file.
    subscript(path: String) -> WebResponse? { responses[path] }
}
