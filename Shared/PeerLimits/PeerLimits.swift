package import ZeroMQ

/// The costs that one peer, and all peers of a socket together, may cause before a connection is closed: docs/peer-limits.md
/// describes the attack behind each limit.
///
/// libzmq bounds frames, queued messages and handshakes (`SocketOptions`). It bounds neither the number of a message's frames,
/// nor subscriptions, nor queued bytes, nor connections. Limits of bytes apply only to TCP: peers over `ipc` were admitted by
/// the permissions of a file.
package struct PeerLimits: Hashable, Sendable {
    /// The maximum number of connections that peers may hold to a listening socket.
    package var maximumConnections = 256
    /// How long, in nanoseconds, a connection counts as a stranger's if keys are required: within this time a handshake
    /// succeeds or fails. Older connections were admitted by their keys and are counted separately, so that strangers can't
    /// crowd them out. Nil if no key is required.
    package var strangersTime: Int64?
    /// Bytes that a peer may send without completing the message that they belong to. More than the largest message of an
    /// honest peer, all of which is unfinished while it is under way.
    package var unfinishedBytes = 34 << 20
    /// The same for all peers of the socket together: the one with the most is disconnected.
    package var totalUnfinishedBytes = 40 << 20
    /// How many of `unfinishedBytes` are forgotten per second, because heartbeats belong to no message. Ten a second,
    /// encrypted, are 450 bytes.
    package var forgottenPerSecond = 512
    /// Bytes of one publisher's events that may wait for their reader; twice as much for all publishers together.
    package var waitingBytes = 48 << 20
    /// Bytes of replies that a peer may leave unread.
    package var unreadBytes = 32 << 20
    /// Bytes of subscriptions left by lost subscribers above which new connections are refused.
    package static let abandonedSubscriptions = 256 << 10
    /// How many of them are forgotten per second: by then libzmq has removed the subscriptions. At most half a second's worth
    /// is counted beyond the limit.
    package static let forgottenSubscriptionsPerSecond = 1 << 20

    package init() {}

    /// The limits of a publisher. Subscribers send subscriptions; each byte that no other subscription begins with takes 36
    /// bytes of memory, and time. Three thousand topics of 40 bytes, encrypted, are 250 KB.
    package static var publishing: PeerLimits {
        var limits = PeerLimits()
        limits.unfinishedBytes = 3 << 17
        limits.totalUnfinishedBytes = 3 << 19
        return limits
    }

    /// The limits of a replier: a little more than the longest request, because a client waits for the reply before it sends
    /// the next request.
    package static var replying: PeerLimits {
        var limits = PeerLimits()
        limits.unfinishedBytes = 3 << 19
        limits.totalUnfinishedBytes = 2 << 20
        return limits
    }

    package init(of socket: GuardedSocket) {
        switch socket.pattern {
        case .publish: self = .publishing
        case .reply: self = .replying
        case .subscribe, .request: self.init()
        }
        maximumConnections = socket.options.maximumConnections
        waitingBytes = socket.options.maximumWaitingBytes
        // Doubled, because the end of a handshake is noticed late on a busy machine.
        if socket.options.security.asksForKeys { strangersTime = 2 * socket.options.handshakeLimit.inNanoseconds }
    }
}
