/// What happened to a socket's connections, counted since it opened (zmq_socket_monitor(3)).
public struct ConnectionEvents: Hashable, Sendable {
    /// Connections that a peer made to us.
    public var accepted = 0
    /// Connections that we made.
    public var connected = 0
    /// Connections that ended.
    public var disconnected = 0
    /// Attempts to connect that will be tried again.
    public var retried = 0
    /// Handshakes that completed.
    public var handshakes = 0
    /// Handshakes that failed: not ZeroMQ, the wrong socket type, too slow.
    public var failedHandshakes = 0

    /// No events yet.
    public init() {}

    mutating func count(_ kind: ConnectionEvent.Kind) {
        switch kind {
        case .accepted: accepted += 1
        case .connected: connected += 1
        case .disconnected: disconnected += 1
        case .connectRetried: retried += 1
        case .handshakeSucceeded: handshakes += 1
        case .handshakeFailed: failedHandshakes += 1
        case .stopped, .other: break
        }
    }
}
