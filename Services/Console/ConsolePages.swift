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

    /// Reads the files of a folder.
    /// - Throws: `RecordingError` if they can't be read, `ServiceError` (bad configuration) if there is no `index.html`.
    init(in folder: FilePath) throws {
        let directory = Directory(folder)
        for name in try directory.names() {
            guard let type = Self.types[FilePath(name).extension ?? ""] else { continue }
            let response = WebResponse(type: type, body: try directory.read(name))
            responses[name == "index.html" ? "/" : "/assets/\(name)"] = response
        }
        guard responses["/"] != nil else {
            throw ServiceError(.badConfiguration, "there is no index.html in \(folder)")
        }
    }

    /// What a path answers; nil for nothing.
    subscript(path: String) -> WebResponse? { responses[path] }
}
