package import ZeroMQ

/// What one peer, and all peers of a socket together, may cost before a connection is cut: docs/peer-limits.md has the attack
/// that each limit is for.
///
/// libzmq bounds frames, messages that wait and handshakes (`SocketOptions`). It bounds neither how many frames a message has,
/// nor subscriptions, nor the bytes that wait, nor connections. Limits of bytes hold for TCP only: peers over `ipc` were let in
/// by the permissions of a file.
package struct PeerLimits: Hashable, Sendable {
    /// Connections that peers may hold to a listening socket.
    package var maximumConnections = 256
    /// For how long, in nanoseconds, a connection may be a stranger's if keys are asked for: a handshake takes less or fails.
    /// Connections that have lasted longer were let in by their keys and are counted by themselves, so that strangers can't
    /// crowd them out. Nil if no key is asked for.
    package var strangersTime: Int64?
    /// Bytes that a peer may send without a message having come out that they belong to. More than the largest message
    /// of an honest one, which is as long unfinished as it is under way.
    package var unfinishedBytes = 34 << 20
    /// The same for all peers of the socket: the one that has most is cut.
    package var totalUnfinishedBytes = 40 << 20
    /// How fast `unfinishedBytes` are forgotten, per second: heartbeats belong to no message. Ten a second, encrypted,
    /// are 450 bytes.
    package var forgottenPerSecond = 512
    /// Bytes of one publisher's events that may wait for their reader, of all publishers twice as much.
    package var waitingBytes = 48 << 20
    /// Bytes of replies that a peer may leave unread.
    package var unreadBytes = 32 << 20
    /// Bytes that subscribers that have gone left, from which on no newcomer is let in.
    package static let abandonedSubscriptions = 256 << 10
    /// How fast they are forgotten, per second: libzmq has removed the subscriptions by then. At most half a second's worth is
    /// counted beyond the limit.
    package static let forgottenSubscriptionsPerSecond = 1 << 20

    package init() {}

    /// The limits of a publisher: subscribers send subscriptions, of which each byte that no other begins with takes 36
    /// in memory, and time. Three thousand topics of 40 bytes, encrypted, are 250 KB.
    package static var publishing: PeerLimits {
        var limits = PeerLimits()
        limits.unfinishedBytes = 3 << 17
        limits.totalUnfinishedBytes = 3 << 19
        return limits
    }

    /// The limits of a replier: a little more than the longest request, since who asks waits for the reply before it
    /// asks on.
    package static var replying: PeerLimits {
        var limits = PeerLimits()
        limits.unfinishedBytes = 3 << 19
        limits.totalUnfinishedBytes = 2 << 20
        return limits
    }

    /// The limits that a socket's peers are held to.
    package init(of socket: GuardedSocket) {
        switch socket.pattern {
        case .publish: self = .publishing
        case .reply: self = .replying
        case .subscribe, .request: self.init()
        }
        maximumConnections = socket.options.maximumConnections
        waitingBytes = socket.options.maximumWaitingBytes
        // Twice as long, since a handshake's end is noticed late on a busy machine.
        if socket.options.security.asksForKeys { strangersTime = 2 * socket.options.handshakeLimit.inNanoseconds }
    }
}
