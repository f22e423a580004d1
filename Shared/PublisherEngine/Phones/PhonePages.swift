import CPhonePages
import WebServer

/// The files of the page for phones, embedded in the program.
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

    /// Anyone may request these paths: the pages reveal nothing about this machine.
    static var paths: Set<String> { Set(responses.keys) }

    /// The response for a path; nil if there is none.
    static func response(_ path: String) -> WebResponse? { responses[path] }
}
