import CPhonePages
import WebServer

/// The files of the page for phones, as they were when the program was built.
enum PhonePages {
    private static let responses: [String: WebResponse] = Dictionary(
        PageFile.embedded(holdfast_phone_pages()).compactMap { file in file.response.map { (path(of: file.name), $0) } }
    ) { first, _ in first }

    private static func path(of name: String) -> String {
        switch name {
        case "phone.html": "/phone"
        case "icon.svg": "/favicon.ico"
        default: "/\(name)"
        }
    }

    /// They say nothing of this machine: everybody may get them.
    static var paths: Set<String> { Set(responses.keys) }

    /// What a path answers; nil for nothing.
    static func response(_ path: String) -> WebResponse? { responses[path] }
}
