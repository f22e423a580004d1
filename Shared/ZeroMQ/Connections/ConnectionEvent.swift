import CZeroMQ

/// An event on a socket's connections (zmq_socket_monitor(3)).
package struct ConnectionEvent: Sendable {
    package enum HandshakeFailure: Sendable {
        /// The peer does not speak ZeroMQ, has the wrong socket type, or is too slow.
        case protocolError
        /// Plain text where encryption is required, or vice versa.
        case wrongMechanism
        /// The authenticator refused the key.
        case refused
    }

    /// The kind of event. A failed handshake has no descriptor; the next event, the connection's end, has it.
    package enum Kind: Sendable {
        case accepted, connected, disconnected, connectRetried, handshakeSucceeded
        case handshakeFailed(HandshakeFailure)
        case stopped, other
    }

    package let kind: Kind
    /// The connection's descriptor, for the first three kinds.
    package let descriptor: Int32
    /// The endpoint that the socket is bound to or connected to.
    package let endpoint: String

    /// Parses an event of two frames: number (16 bits) and value (32 bits), then an endpoint.
    init(_ messages: UnsafeMessages) {
        let frame = messages.frame(0, of: 0)
        guard frame.count >= 6, messages.frameCount(of: 0) > 1 else {
            (kind, descriptor, endpoint) = (.other, -1, "")
            return
        }
        let value = frame.loadUnaligned(fromByteOffset: 2, as: Int32.self)
        kind =
            switch Int32(frame.loadUnaligned(as: UInt16.self)) {
            case ZMQ_EVENT_ACCEPTED: .accepted
            case ZMQ_EVENT_CONNECTED: .connected
            case ZMQ_EVENT_DISCONNECTED: .disconnected
            case ZMQ_EVENT_CONNECT_RETRIED: .connectRetried
            case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: .handshakeSucceeded
            case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: .handshakeFailed(.protocolError)
            case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: .handshakeFailed(.refused)
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
                .handshakeFailed(
                    value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH ? .wrongMechanism : .protocolError)
            case ZMQ_EVENT_MONITOR_STOPPED: .stopped
            default: .other
            }
        descriptor = value
        endpoint = String(decoding: messages.frame(1, of: 0), as: UTF8.self)
    }

    /// The kernel's view of the new connection.
    package var handle: ConnectionHandle {
        var isIncoming = false
        if case .accepted = kind { isIncoming = true }
        return ConnectionHandle(descriptor: descriptor, endpoint: endpoint, isIncoming: isIncoming)
    }
}
