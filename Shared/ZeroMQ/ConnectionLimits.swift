/// What one peer, and all peers of a socket together, may cost before a connection is cut.
///
/// libzmq bounds frames, whole messages and handshakes (`SocketOptions`). It bounds neither how many frames a message
/// has, nor subscriptions, nor connections: these are watched from outside, by `SocketMonitor`, from what the kernel
/// has counted per connection. They hold for TCP; peers over `ipc` were let in by the permissions of a file, and only
/// their number is bounded.
public struct ConnectionLimits: Hashable, Sendable {
    /// Connections that peers may hold to a listening socket. Far below the number of files that a process may have
    /// open, so that there is always one left for a log.
    public var maximumConnections = 256
    /// For how long, in nanoseconds, a connection may be a stranger's where keys are asked for: a handshake takes less or fails.
    /// Those that have lasted longer were let in by their keys, and count by themselves: strangers can't crowd them out. Nil
    /// where anybody is let in.
    var strangersTime: Int64?
    /// Bytes that a peer may send without a message having come out that they belong to. More than the largest message
    /// of an honest one, which is as long unfinished as it is under way.
    public var unfinishedBytes = 34 << 20
    /// The same for all peers of the socket together: the one that has most is cut.
    public var totalUnfinishedBytes = 40 << 20
    /// How fast `unfinishedBytes` are forgotten, per second: heartbeats belong to no message. Ten a second, encrypted,
    /// are 450 bytes.
    public var forgottenPerSecond = 512
    /// How far the process may grow, besides the unfinished bytes themselves, while such bytes arrive. A long frame takes
    /// its length; many frames take more, and those of no length 32 times what they take on the wire. Far more than an
    /// honest program grows while a long frame is under way over a slow line.
    public var memoryGrowth = 12 << 20
    /// The same for who asks: while one long answer comes others do, which the program takes in.
    static let askersMemoryGrowth = 48 << 20
    /// Bytes of one publisher's events that may wait for their reader, of all publishers twice as much: a high-water mark
    /// counts messages, however long they are. As much as a thousand messages of 48 KiB, and more than the longest one.
    public var waitingBytes = 48 << 20
    /// Bytes of replies that a peer may leave unread.
    public var unreadBytes = 32 << 20

    /// The limits of a socket that is sent events or answers.
    public init() {}

    /// The limits of a publisher: subscribers send subscriptions, of which each byte that no other begins with takes 36
    /// in memory, and time. Three thousand topics of 40 bytes, encrypted, are 250 KB.
    public static var publishing: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.unfinishedBytes = 3 << 17
        limits.totalUnfinishedBytes = 3 << 19
        return limits
    }

    /// The limits of a replier: a little more than the longest request, since who asks waits for the reply before it
    /// asks on.
    public static var replying: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.unfinishedBytes = 3 << 19
        limits.totalUnfinishedBytes = 2 << 20
        limits.memoryGrowth = 8 << 20
        return limits
    }
}
