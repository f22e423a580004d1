/// The server side of a WebSocket: produces whole frames for the client, and handles its messages.
package protocol WebSocketSession: WebFeed {
    /// Handles messages from the client, in order. No more are read before this returns.
    func receive(_ messages: [WebSocketReader.Message]) async

    /// Whether the connection ends once everything that waits was sent.
    var isOver: Bool { get }
}
