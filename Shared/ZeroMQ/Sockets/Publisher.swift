import CZeroMQ
import Synchronization

/// A PUB socket that any thread may publish on, synchronously.
///
/// The socket moves between threads under a mutex, whose full memory barrier is what zmq(7) asks of a migration.
/// Publishing never waits: for a subscriber whose queue is at `SocketOptions.sendHighWaterMark` libzmq drops the
/// message without a word. So number what you publish, and keep it for those who ask again.
public final class Publisher: ConnectionUser {
    private let socket: Mutex<Socket>
    private let monitor: SocketMonitor?
    private let settling: AsyncStream<Void>.Continuation
    /// False from each question until libzmq is done with what it asks for.
    private let isSettled = Atomic(true)

    /// Opens the socket.
    /// - Parameter thread: reads the socket's connection events, to count them and for the context's guard; without it
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
        // Nobody awaits it: it ends with the publisher.
        Task { [weak self] in
            for await _ in stream { await self?.settle() }
        }
    }

    deinit { settling.finish() }

    /// What happened to the socket's connections so far.
    public var connectionEvents: ConnectionEvents { monitor?.events ?? ConnectionEvents() }

    /// Listens on an endpoint, and returns it with its real port where `*` was asked.
    public func bind(to endpoint: String) throws(ZeroMQError) -> String {
        try socket.withLock { (socket) throws(ZeroMQError) in try socket.bind(to: endpoint) }
    }

    /// Connects to a subscriber that listens (a proxy, say).
    public func connect(to endpoint: String) throws(ZeroMQError) {
        try socket.withLock { (socket) throws(ZeroMQError) in try socket.connect(to: endpoint) }
    }

    /// Sends messages, each to every subscriber of a prefix of its first frame, one right after the other: so libzmq's thread
    /// is woken once for many of them, and writes many at once to a connection. The bytes are copied.
    public func publish(_ batch: MessageBatch) throws(ZeroMQError) {
        try socket.withLock { (socket) throws(ZeroMQError) in try socket.send(batch) }
    }

    /// Sends one message to every subscriber of a prefix of its first frame.
    public func publish(_ frames: [[UInt8]]) throws(ZeroMQError) {
        _ = try socket.withLock { (socket) throws(ZeroMQError) in try socket.send(frames) }
    }

    /// A guard asks while subscriptions come, and for a while after a subscriber has gone.
    func takeTraffic() -> SocketTraffic {
        var traffic = SocketTraffic()
        traffic.isDrained = isSettled.exchange(false, ordering: .acquiringAndReleasing)
        settling.yield()
        return traffic
    }

    /// Has libzmq take in what subscribers sent, and forget those that have gone: otherwise it does so only when something is
    /// published. Not on the socket thread, because it takes as long as a flood of subscriptions continues.
    @concurrent
    private func settle() async {
        socket.withLock { socket in
            var traffic = SocketTraffic()
            _ = socket.take(&traffic)
        }
        isSettled.store(true, ordering: .releasing)
    }
}
