/// A request that asks for a WebSocket.
package struct WebSocketUpgrade: Hashable, Sendable {
    /// What the accepted key is the hash of, behind the client's key (RFC 6455, 1.3).
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// What the answer's key is the base64 of the SHA-1 of.
    package let keyText: String
    /// The subprotocols that the client speaks, the one that it wants most first.
    package let protocols: [String]

    /// - Returns: nil if the request does not ask for one, or not as the standard says.
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
