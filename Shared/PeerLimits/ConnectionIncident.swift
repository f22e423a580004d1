/// A connection that was cut, or that never came to be: whose, and why.
package struct ConnectionIncident: Hashable, Sendable {
    /// Why a connection did not last.
    package enum Reason: String, CaseIterable, Sendable {
        /// The peer did not speak ZeroMQ, or not in time.
        case handshakeFailed
        /// The peer spoke plain text where encryption is required, or the other way round.
        case wrongMechanism
        /// The peer's key is not allowed in.
        case refused
        /// The socket had as many connections as it may have.
        case tooManyConnections
        /// The peer sent bytes without end that made no message.
        case unfinishedMessage
        /// The peer sends large messages faster than they are read.
        case backlog
        /// The peer asked for more topics than fit in memory.
        case tooManySubscriptions
        /// The peer asked and did not read the answers.
        case unreadReplies

        /// Whether we ended the connection ourselves.
        package var isCut: Bool {
            switch self {
            case .handshakeFailed, .wrongMechanism, .refused: false
            case .tooManyConnections, .unfinishedMessage, .backlog, .tooManySubscriptions, .unreadReplies: true
            }
        }
    }

    /// The pattern of the socket: PUB, SUB, REQ, or ROUTER for one that replies.
    package let socket: String
    /// Why.
    package let reason: Reason
    /// The peer's address without its port, which is another at each attempt; `unknown` if it had gone before it
    /// could be asked for.
    package let peer: String

    package init(socket: String, reason: Reason, peer: String) {
        self.socket = socket
        self.reason = reason
        self.peer = peer
    }
}
