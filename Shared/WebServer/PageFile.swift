package import CPageFiles
import SystemPackage

/// A file of a page.
package struct PageFile: Sendable {
    private static let types = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
    ]

    package let name: String
    package let body: [UInt8]

    package init(name: String, body: [UInt8]) {
        self.name = name
        self.body = body
    }

    /// The files embedded when the program was built.
    package static func embedded(_ pages: holdfast_pages) -> [PageFile] {
        UnsafeBufferPointer(start: pages.files, count: pages.count).map { file in
            PageFile(
                name: String(cString: file.name),
                body: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
        }
    }

    /// The response that serves the file; nil if its type is unknown.
    package var response: WebResponse? {
        Self.types[FilePath(name).extension ?? ""].map { WebResponse(type: $0, body: body) }
    }
}
