import Files
import ServiceKit
import SystemPackage
import WebServer

/// The page's files, read once: paths are looked up among their names and never lead to the disk.
struct ConsolePages: Sendable {
    private static let types = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
    ]

    private var responses: [String: WebResponse] = [:]

    /// Reads the files of a directory.
    /// - Parameter folder: nil for those in the program.
    /// - Throws: `RecordingError` if they can't be read, `ServiceError` (bad configuration) if there is no `index.html`.
    init(in folder: FilePath?) throws {
        if let folder {
            let directory = Directory(folder)
            for name in try directory.names() { add(name, try directory.read(name)) }
        } else {
            for (name, body) in EmbeddedPages.files { add(name, body) }
        }
        guard responses["/"] != nil else {
            throw ServiceError(.badConfiguration, "there is no index.html in \(folder?.string ?? "the program")")
        }
    }

    private mutating func add(_ name: String, _ body: [UInt8]) {
        guard let type = Self.types[FilePath(name).extension ?? ""] else { return }
        responses[name == "index.html" ? "/" : "/assets/\(name)"] = WebResponse(type: type, body: body)
    }

    /// What a path answers; nil for nothing.
    subscript(path: String) -> WebResponse? { responses[path] }
}
