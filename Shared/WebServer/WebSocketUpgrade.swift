/// A request to upgrade to a WebSocket.
package struct WebSocketUpgrade: Hashable, Sendable {
    /// Appended to the client's key before hashing (RFC 6455, 1.3).
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// The client's key with the suffix; the response contains the base64 of its SHA-1.
    package let keyText: String
    /// The subprotocols that the client offers, in order of preference.
    package let protocols: [String]

    /// - Returns: nil if the request asks for no WebSocket, or violates the standard.
    package init?(_ request: WebRequest) {
        let headers = request.headers
        func list(_ name: String) -> [String] {
            (headers[name] ?? "").split(separator: ",").map { $0.trimmed }
        }
        guard request.method == "GET", headers["upgrade"]?.lowercased() == "websocket",
            list("connection").contains(where: { $0.lowercased() == "upgrade" }),
            headers["sec-websocket-version"] == "13", let key = headers["sec-websocket-key"], key.utf8.count == 24
        else { return nil }
        keyText = key + Self.suffix
        protocols = list("sec-websocket-protocol")
    }
}

extension Substring {
    fileprivate var trimmed: String {
        var text = drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
