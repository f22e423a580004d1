package import SystemPackage

/// An HTTP request, reduced to what servers here need.
package struct WebRequest: Sendable {
    /// `GET`, `HEAD` or `POST`.
    package var method: String
    /// Decoded, without the query.
    package var path: String
    /// By lower-case name; only those in `WebServer.headers`.
    package var headers: [String: String] = [:]
    /// The query parameters; only those in `WebServer.arguments`.
    package var arguments: [String: String] = [:]
    /// At most `WebLimits.body` bytes.
    package var body: [UInt8] = []
    /// The client's address.
    package var peer = ""
    /// The user of the token that the request presented, one of the names in `WebAdmission`; nil if no token is required.
    package var user: String?

    /// The token of `Authorization: Bearer TOKEN`; nil without one.
    var bearerToken: String? {
        let bearer = "Bearer "
        return headers["authorization"].flatMap { $0.hasPrefix(bearer) ? String($0.dropFirst(bearer.count)) : nil }
    }

    /// A request without headers or body.
    package init(method: String, path: String) {
        self.method = method
        self.path = path
    }
}

/// An open file to send. It is closed once nothing refers to it any more.
package final class WebFile: Sendable {
    let descriptor: FileDescriptor

    package init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    deinit { try? descriptor.close() }
}

/// The response to a request.
package struct WebResponse: Sendable {
    /// The content after the headers.
    package enum Body: Sendable {
        case bytes([UInt8])
        /// This many bytes of a file.
        case file(WebFile, count: Int)
        /// Data as it becomes available, until the browser leaves.
        case feed(any WebFeed)
        /// A WebSocket; the response's headers accept the upgrade.
        case socket(any WebSocketSession)
    }

    package var status: UInt32
    /// The MIME type of the body.
    package var type: String
    package var body: Body
    /// Headers besides the content type.
    package var headers: [(name: String, value: String)] = []

    /// A response with a body in memory.
    package init(status: UInt32 = 200, type: String = "application/json", body: [UInt8]) {
        self.status = status
        self.type = type
        self.body = .bytes(body)
    }

    /// A response with a body that is not all in memory.
    package init(type: String, body: Body) {
        status = 200
        self.type = type
        self.body = body
    }

    /// A refusal: `{"error":{"code":…,"message":…}}`.
    /// - Parameters:
    ///   - code: a word for programs, without quotes.
    ///   - message: a sentence for people, without quotes.
    package static func refusal(_ status: UInt32, _ code: String, _ message: String) -> WebResponse {
        WebResponse(status: status, body: Array(#"{"error":{"code":"\#(code)","message":"\#(message)"}}"#.utf8))
    }

    /// The refusal of a method that no path supports.
    static var methodRefusal: WebResponse {
        var refusal = WebResponse.refusal(405, "notAllowed", "use GET, HEAD or POST")
        refusal.headers = [("Allow", "GET, HEAD, POST")]
        return refusal
    }
}
