/// Counts of a socket's connection events since it opened (zmq_socket_monitor(3)).
public struct ConnectionEvents: Hashable, Sendable {
    /// Incoming connections.
    public var accepted = 0
    /// Outgoing connections.
    public var connected = 0
    /// Connections that ended.
    public var disconnected = 0
    /// Failed attempts to connect, which are retried.
    public var retried = 0
    /// Handshakes that completed.
    public var handshakes = 0
    /// Handshakes that failed: the peer does not speak ZeroMQ, has the wrong socket type, or is too slow.
    public var failedHandshakes = 0

    /// Creates counts of zero.
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
