import Messages
import WebServer

extension WebResponse {
    static let wrongMethod = refusal(
        405, "notAllowed", "use POST for requests that change something, and GET for all others")

    static let unwritable = refusal(500, "internalError", "the answer can't be written as JSON")

    /// A response with a value as JSON.
    static func json(_ value: some Encodable, status: UInt32 = 200) -> WebResponse {
        guard let body = try? WireCoding.encode(value) else { return unwritable }
        return WebResponse(status: status, body: body)
    }
}
