/// A connection that was closed by this program, or that was never established: its peer, and the reason.
package struct ConnectionIncident: Hashable, Sendable {
    /// Why a connection did not last.
    package enum Reason: String, CaseIterable, Sendable {
        /// The peer did not speak ZeroMQ, or not in time.
        case handshakeFailed
        /// The peer used plain text where encryption is required, or vice versa.
        case wrongMechanism
        /// The peer's key is not allowed.
        case refused
        /// The socket had its maximum number of connections.
        case tooManyConnections
        /// The peer kept sending bytes that completed no message.
        case unfinishedMessage
        /// The peer sends large messages faster than they are read.
        case backlog
        /// The peer subscribed to more topics than fit in memory.
        case tooManySubscriptions
        /// The peer sent requests and did not read the replies.
        case unreadReplies

        /// Whether this program closed the connection.
        package var isCut: Bool {
            switch self {
            case .handshakeFailed, .wrongMechanism, .refused: false
            case .tooManyConnections, .unfinishedMessage, .backlog, .tooManySubscriptions, .unreadReplies: true
            }
        }
    }

    /// The pattern of the socket: PUB, SUB, REQ, or ROUTER for one that replies.
    package let socket: String
    package let reason: Reason
    /// The peer's address without its port, which differs at each attempt; `unknown` if the peer was gone before it could be
    /// determined.
    package let peer: String

    package init(socket: String, reason: Reason, peer: String) {
        self.socket = socket
        self.reason = reason
        self.peer = peer
    }
}
