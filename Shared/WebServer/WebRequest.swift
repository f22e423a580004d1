/// A request of a browser, as far as the console reads it.
package struct WebRequest: Sendable {
    /// `GET`, `HEAD` or `POST`.
    package var method: String
    /// Decoded, without what follows `?`.
    package var path: String
    /// By lower-case name: those in `WebServer.headers` alone.
    package var headers: [String: String] = [:]
    /// What `token` is after the path's `?`.
    package var token: String?
    /// At most `WebServer.maximumBody` bytes.
    package var body: [UInt8] = []

    /// A request without headers.
    package init(method: String, path: String) {
        self.method = method
        self.path = path
    }
}

/// What a browser is answered.
package struct WebResponse: Sendable {
    /// The HTTP status.
    package var status: UInt32
    /// The body's type.
    package var type: String
    /// The body.
    package var body: [UInt8]
    /// Further headers.
    package var headers: [(name: String, value: String)] = []

    /// An answer.
    package init(status: UInt32 = 200, type: String = "application/json", body: [UInt8]) {
        self.status = status
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
}
