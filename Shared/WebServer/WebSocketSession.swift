/// A WebSocket's server side: what its client is sent, as whole frames, and what becomes of its messages.
package protocol WebSocketSession: WebFeed {
    /// Takes what the client sent, in order. No more of it is read before this returns.
    func receive(_ messages: [WebSocketReader.Message]) async

    /// Whether the connection ends once all was sent that waits.
    var isOver: Bool { get }
}
