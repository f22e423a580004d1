/// What bounds a socket: set before it binds or connects, because libzmq applies most options only to later endpoints.
///
/// Every value is explicit; the reasons for the defaults stand beside them.
public struct SocketOptions: Hashable, Sendable {
    /// Messages queued per subscriber or peer before a publisher drops (zmq_setsockopt(3), ZMQ_SNDHWM). Never 0, which is
    /// unlimited; a subscriber ignores it, since it sends only subscriptions.
    public var sendHighWaterMark = 1_000
    /// Messages queued per peer before the network is no longer read (ZMQ_RCVHWM).
    public var receiveHighWaterMark = 1_000
    /// How long closing waits for what was sent to leave; bounds a shutdown with a dead peer.
    public var linger: Duration = .milliseconds(500)
    /// A peer that has not finished its handshake by then is cut off: with libzmq's 30 s, a few hundred silent connections starve honest ones.
    public var handshakeLimit: Duration = .seconds(1)
    /// A frame larger than this ends its connection (ZMQ_MAXMSGSIZE). It bounds what a stranger can make us allocate.
    public var maximumFrameSize = 32 << 20
    /// How much the kernel takes in of a peer ahead of us, in bytes (ZMQ_RCVBUF); nil for what it thinks fit, which is
    /// megabytes. What a flood has filled it with is still worked through when the flood is over.
    public var receiveBuffer: Int?
    /// The wait before a lost connection is tried again; doubles up to ten times as much.
    public var reconnectInterval: Duration = .milliseconds(100)
    /// How long an attempt to connect may take. The kernel waits longer after each packet that is lost, up to a minute:
    /// so long a network that is back would not be noticed.
    public var connectLimit: Duration = .seconds(3)

    /// How long a peer may say nothing before its connection ends; asked for a sign of life four times as often
    /// (ZMQ_HEARTBEAT_IVL, ZMQ_HEARTBEAT_TIMEOUT). Zero: for as long as the kernel holds the connection.
    public var heartbeat: Duration = .zero

    /// How connections are protected.
    public var security = SocketSecurity.plain
    /// Connections that peers may hold to a socket that listens, if the context has a guard. Far below the number of files
    /// that a process may have open, so that there is always one left for a log.
    public var maximumConnections = 256
    /// Bytes of one publisher's events that may wait for their reader, of all publishers twice as much, if the context has a
    /// guard: a high-water mark counts messages, however long they are. As much as a thousand messages of 48 KiB, and more
    /// than the longest one.
    public var maximumWaitingBytes = 48 << 20

    /// The defaults.
    public init() {}

    /// The same for a socket that sends requests.
    var asking: SocketOptions {
        var options = self
        // A request whose asker has gone need not be delivered.
        options.linger = .zero
        return options
    }

    /// The defaults of a publisher: nothing that a subscriber sends is longer than a subscription to a topic, and
    /// each one sent is kept in memory, so longer frames end the connection.
    public static var publishing: SocketOptions {
        var options = SocketOptions()
        options.maximumFrameSize = 256
        return options
    }

    /// The defaults of a replier: a request is refused beyond 1 MiB, and read a little further, so that it can be.
    public static var replying: SocketOptions {
        var options = SocketOptions()
        options.maximumFrameSize = 17 << 16
        // What a peer asks at once beyond this waits in its own memory.
        options.receiveHighWaterMark = 16
        options.receiveBuffer = 128 << 10
        return options
    }
}

extension Duration {
    /// Whole milliseconds, as libzmq's options count, at most what fits a C int.
    var inMilliseconds: Int32 {
        Int32(clamping: components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000)
    }

    /// Whole nanoseconds.
    package var inNanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
