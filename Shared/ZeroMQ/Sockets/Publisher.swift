import CZeroMQ
import Synchronization

/// A PUB socket on which any thread may publish, synchronously.
///
/// The socket moves between threads under a mutex, which has the full memory barrier that zmq(7) requires for a migration.
/// Publishing never waits: libzmq silently drops a message for a subscriber whose queue is at
/// `SocketOptions.sendHighWaterMark`. So number what you publish, and keep it for replays.
public final class Publisher: ConnectionUser {
    private let socket: Mutex<Socket>
    private let monitor: SocketMonitor?
    private let settling: AsyncStream<Void>.Continuation
    /// False from each query of the traffic until libzmq has processed it.
    private let isSettled = Atomic(true)

    /// Opens the socket.
    /// - Parameter thread: reads the socket's connection events, for the counts and for the context's guard; without it,
    ///   neither gets any.
    public init(
        context: Context, thread: SocketThread? = nil, options: SocketOptions = .publishing
    ) throws(ZeroMQError) {
        let socket = try Socket.open(.publish, in: context, options: options)
        monitor = try thread.map { (thread) throws(ZeroMQError) in
            try SocketMonitor(of: socket, as: .publish, options: options, in: context, on: thread)
        }
        self.socket = Mutex(socket)
        let stream: AsyncStream<Void>
        (stream, settling) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard let monitor else { return }
        monitor.setOwner(self)
        // No task awaits it; it ends with the publisher.
        Task { [weak self] in
            for await _ in stream { await self?.settle() }
        }
    }

    deinit { settling.finish() }

    /// The socket's connection events so far.
    public var connectionEvents: ConnectionEvents { monitor?.events ?? ConnectionEvents() }

    /// Binds the socket to an endpoint, and returns it with the actual port instead of `*`.
    public func bind(to endpoint: String) throws(ZeroMQError) -> String {
        try socket.withLock { (socket) throws(ZeroMQError) in try socket.bind(to: endpoint) }
    }

    /// Connects to a listening subscriber, such as a proxy.
    public func connect(to endpoint: String) throws(ZeroMQError) {
        try socket.withLock { (socket) throws(ZeroMQError) in try socket.connect(to: endpoint) }
    }

    /// Sends messages in immediate succession, each to every subscriber of a prefix of its first frame: libzmq's thread is
    /// woken once for many of them, and writes many at once to a connection. The bytes are copied.
    public func publish(_ batch: MessageBatch) throws(ZeroMQError) {
        try socket.withLock { (socket) throws(ZeroMQError) in try socket.send(batch) }
    }

    /// Sends one message to every subscriber of a prefix of its first frame.
    public func publish(_ frames: [[UInt8]]) throws(ZeroMQError) {
        _ = try socket.withLock { (socket) throws(ZeroMQError) in try socket.send(frames) }
    }

    /// Called by a guard while subscriptions arrive, and for a while after a subscriber has gone.
    func takeTraffic() -> SocketTraffic {
        var traffic = SocketTraffic()
        traffic.isDrained = isSettled.exchange(false, ordering: .acquiringAndReleasing)
        settling.yield()
        return traffic
    }

    /// Makes libzmq process what subscribers sent, and release those that have gone; otherwise it does so only on the next
    /// publication. Not on the socket thread, because it takes as long as a flood of subscriptions lasts.
    @concurrent
    private func settle() async {
        socket.withLock { socket in
            var traffic = SocketTraffic()
            _ = socket.take(&traffic)
        }
        isSettled.store(true, ordering: .releasing)
    }
}
