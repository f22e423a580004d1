package import SystemPackage

/// A request of a browser, as far as the console reads it.
package struct WebRequest: Sendable {
    /// `GET`, `HEAD` or `POST`.
    package var method: String
    /// Decoded, without what follows `?`.
    package var path: String
    /// By lower-case name: those in `WebServer.headers` alone.
    package var headers: [String: String] = [:]
    /// What is after the path's `?`: those in `WebServer.arguments` alone.
    package var arguments: [String: String] = [:]
    /// At most `WebLimits.body` bytes.
    package var body: [UInt8] = []
    /// The address that it came from.
    package var peer = ""
    /// Whose token it shows: one of the names that `WebAdmission` has; nil if none is asked for.
    package var user: String?

    /// The token of `Authorization: Bearer TOKEN`; nil without one.
    var bearerToken: String? {
        let bearer = "Bearer "
        return headers["authorization"].flatMap { $0.hasPrefix(bearer) ? String($0.dropFirst(bearer.count)) : nil }
    }

    /// A request without headers.
    package init(method: String, path: String) {
        self.method = method
        self.path = path
    }
}

/// What a browser is answered.
package struct WebResponse: Sendable {
    /// What follows the headers.
    package enum Body: Sendable {
        case bytes([UInt8])
        /// So many bytes of a file, which is closed after them.
        case file(FileDescriptor, count: Int)
        /// What comes, until the browser leaves.
        case feed(any WebFeed)
        /// What a WebSocket's client is sent; the answer's headers accept it.
        case socket(any WebSocketSession)
    }

    /// The HTTP status.
    package var status: UInt32
    /// The body's type.
    package var type: String
    /// The body.
    package var body: Body
    /// Further headers.
    package var headers: [(name: String, value: String)] = []

    /// An answer.
    package init(status: UInt32 = 200, type: String = "application/json", body: [UInt8]) {
        self.status = status
        self.type = type
        self.body = .bytes(body)
    }

    /// An answer of what is not all in memory.
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

    /// The refusal of a method that no path has.
    static var methodRefusal: WebResponse {
        var refusal = WebResponse.refusal(405, "notAllowed", "ask with GET, HEAD or POST")
        refusal.headers = [("Allow", "GET, HEAD, POST")]
        return refusal
    }
}
