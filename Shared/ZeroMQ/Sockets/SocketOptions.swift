/// The limits of a socket, set before it binds or connects, because libzmq applies most options only to later endpoints.
///
/// All defaults are explicit, with their reasons.
public struct SocketOptions: Hashable, Sendable {
    /// The number of messages queued per subscriber or peer before a publisher drops (zmq_setsockopt(3), ZMQ_SNDHWM). Never 0,
    /// which is unlimited; a subscriber ignores it, because it sends only subscriptions.
    public var sendHighWaterMark = 1_000
    /// The number of messages queued per peer before the network is no longer read (ZMQ_RCVHWM).
    public var receiveHighWaterMark = 1_000
    /// How long closing waits for pending messages to be sent; bounds a shutdown with a dead peer.
    public var linger: Duration = .milliseconds(500)
    /// How long a handshake may take before the peer is disconnected: with libzmq's 30 s, a few hundred silent connections
    /// starve honest ones.
    public var handshakeLimit: Duration = .seconds(1)
    /// The maximum frame size in bytes; a larger frame ends its connection (ZMQ_MAXMSGSIZE). It bounds what a hostile peer can
    /// make the program allocate.
    public var maximumFrameSize = 32 << 20
    /// The kernel's receive buffer in bytes (ZMQ_RCVBUF); nil for the kernel's choice, which is megabytes. A buffer filled by a
    /// flood is still processed after the flood is over.
    public var receiveBuffer: Int?
    /// The pause before a lost connection is retried; it doubles up to ten times its value.
    public var reconnectInterval: Duration = .milliseconds(100)
    /// How long an attempt to connect may take. The kernel waits longer after each lost packet, up to a minute, and for so long
    /// the return of the network would go unnoticed.
    public var connectLimit: Duration = .seconds(3)

    /// How long a peer may be silent before its connection ends; heartbeats are requested four times as often
    /// (ZMQ_HEARTBEAT_IVL, ZMQ_HEARTBEAT_TIMEOUT). Zero: as long as the kernel keeps the connection.
    public var heartbeat: Duration = .zero

    /// The protection of connections.
    public var security = SocketSecurity.plain
    /// The maximum number of connections that peers may hold to a listening socket, if the context has a guard. Far below the
    /// process's limit of open files, so that a file can always be opened.
    public var maximumConnections = 256
    /// The maximum size in bytes of one publisher's events that wait for their reader, if the context has a guard; twice as
    /// much for all publishers together. A high-water mark alone counts messages of any size. It equals a thousand messages of
    /// 48 KiB, and exceeds the longest message.
    public var maximumWaitingBytes = 48 << 20

    /// Creates options with the defaults.
    public init() {}

    /// The same options for a socket that sends requests.
    var asking: SocketOptions {
        var options = self
        // A request need not be delivered after its client has gone.
        options.linger = .zero
        return options
    }

    /// The defaults of a publisher. Subscribers send nothing longer than a subscription to a topic, and each one is kept in
    /// memory, so longer frames end the connection.
    public static var publishing: SocketOptions {
        var options = SocketOptions()
        options.maximumFrameSize = 256
        return options
    }

    /// The defaults of a replier: a request of more than 1 MiB is refused, and read a little further so that it can be.
    public static var replying: SocketOptions {
        var options = SocketOptions()
        options.maximumFrameSize = 17 << 16
        // Further requests of a peer wait in the peer's own memory.
        options.receiveHighWaterMark = 16
        options.receiveBuffer = 128 << 10
        return options
    }
}

extension Duration {
    /// Whole milliseconds, the unit of libzmq's options, clamped to a C int.
    var inMilliseconds: Int32 {
        Int32(clamping: components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000)
    }

    /// Whole nanoseconds.
    package var inNanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
