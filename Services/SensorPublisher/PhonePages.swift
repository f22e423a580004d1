import CPhonePages
import WebServer

/// The files of the page for phones, as they were when the program was built.
enum PhonePages {
    private static let responses: [String: WebResponse] = {
        let pages = (0...).lazy.map { holdfast_phone_page($0)?.pointee }.prefix { $0 != nil }.compactMap(\.self)
        return Dictionary(
            pages.map { page in
                let body = Array(UnsafeBufferPointer(start: page.bytes, count: page.count))
                return (String(cString: page.path), WebResponse(type: String(cString: page.type), body: body))
            }
        ) { first, _ in first }
    }()

    /// They say nothing of this machine: everybody may get them.
    static var paths: Set<String> { Set(responses.keys) }

    /// What a path answers; nil for nothing.
    static func response(_ path: String) -> WebResponse? { responses[path] }
}
