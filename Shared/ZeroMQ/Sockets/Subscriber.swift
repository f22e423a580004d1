import CZeroMQ

/// A SUB socket on a `SocketThread`, from which one consumer pulls batches.
///
/// Nothing is buffered here: messages that the consumer has not pulled wait in libzmq up to
/// `SocketOptions.receiveHighWaterMark`, then at the publisher, which drops messages beyond its own mark.
public actor Subscriber: ConnectionUser {
    private let thread: SocketThread
    private let socket: Socket
    private let monitor: SocketMonitor
    private var isReceiving = false
    /// The prefix of topics whose messages' origins are recorded; empty for none.
    private var originTopic: [UInt8] = []
    private var use = SocketTraffic()
    /// Has an element when a publisher has connected or reconnected; only one for several at once. For one consumer.
    package nonisolated let arrivals: AsyncStream<Void>

    /// The thread that owns the socket.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the socket.
    public init(context: Context, thread: SocketThread, options: SocketOptions = SocketOptions()) throws(ZeroMQError) {
        self.thread = thread
        socket = try Socket.open(.subscribe, in: context, options: options)
        monitor = try SocketMonitor(of: socket, as: .subscribe, options: options, in: context, on: thread)
        let arrival: AsyncStream<Void>.Continuation
        (arrivals, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        monitor.setOwner(self, onHandshake: { arrival.yield() })
    }

    /// The socket's connection events so far.
    public nonisolated var connectionEvents: ConnectionEvents { monitor.events }

    /// The endpoints with an established connection, as passed to `connect(to:)`, without in-process ones.
    public nonisolated var connectedEndpoints: Set<String> { monitor.connectedEndpoints }

    /// Connects to a publisher, as soon as it is reachable. libzmq looks up names on the thread that all sockets share, and
    /// uses only the first address: pass addresses.
    public func connect(to endpoint: String) throws(ZeroMQError) { try socket.connect(to: endpoint) }

    /// Binds the socket for publishers that connect, and returns the endpoint with its actual port.
    public func bind(to endpoint: String) throws(ZeroMQError) -> String { try socket.bind(to: endpoint) }

    /// Disconnects from a publisher.
    public func disconnect(from endpoint: String) throws(ZeroMQError) {
        try socket.disconnect(from: endpoint)
        monitor.forget(endpoint)
    }

    /// Makes batches record the senders' addresses of messages whose topic starts with a prefix: `UnsafeMessages.origin(of:)`.
    /// Use it only for rare messages, since each costs a string.
    public func tellOrigins(of prefix: String) { originTopic = Array(prefix.utf8) }

    /// Subscribes to messages whose first frame starts with a prefix. Counted: unsubscribe as often.
    public func subscribe(to prefix: String) throws(ZeroMQError) { try socket.set(ZMQ_SUBSCRIBE, prefix: prefix) }

    /// Undoes one `subscribe(to:)`.
    public func unsubscribe(from prefix: String) throws(ZeroMQError) {
        try socket.set(ZMQ_UNSUBSCRIBE, prefix: prefix)
    }

    /// Waits for messages and returns the available ones: at least one.
    /// - Parameters:
    ///   - limit: the maximum number of messages.
    ///   - maximumBytes: no further message is taken once the batch has this size.
    ///   - batch: its messages are removed and its memory is reused.
    ///   - deadline: the instant of `MonotonicClock` at which an empty batch is returned instead.
    /// - Throws: `CancellationError`, and `ZeroMQError` if the socket fails.
    public func next(
        limit: Int = 512, maximumBytes: Int = 1 << 20, reusing batch: consuming sending MessageBatch = MessageBatch(),
        deadline: Int64? = nil
    ) async throws -> MessageBatch {
        precondition(!isReceiving, "a subscriber has one consumer: next() was called while another call waits")
        isReceiving = true
        defer { isReceiving = false }
        batch.removeAll()
        while true {
            while batch.count < limit, batch.byteCount < maximumBytes,
                try socket.receive(into: &batch, counting: &use, tellingOriginsOf: originTopic)
            {}
            if !batch.isEmpty { return batch }
            guard try await thread.wait(socket: socket.handle, deadline: deadline) else { return batch }
        }
    }

    /// Takes received batches until the task is cancelled, reusing memory.
    /// - Throws: `CancellationError`, `ZeroMQError` if the socket fails, and the errors of `take`.
    public func forEachBatch(_ take: (MessageBatch) async throws -> Void) async throws -> Never {
        var batch = MessageBatch()
        while true {
            batch = try await next(reusing: consume batch)
            try await take(batch)
        }
    }

    func takeTraffic() -> SocketTraffic { socket.take(&use) }
}
