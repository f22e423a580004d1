import CZeroMQ

/// A SUB socket on a `SocketThread`, read in batches by one consumer that pulls.
///
/// Nothing is buffered here: what the consumer has not pulled waits in libzmq up to
/// `SocketOptions.receiveHighWaterMark`, then at the publisher, which drops beyond its own mark.
public actor Subscriber: ConnectionUser {
    private let thread: SocketThread
    private let socket: Socket
    private let monitor: SocketMonitor
    private var isReceiving = false
    /// The messages whose senders' addresses are wanted: what their topics begin with.
    private var originTopic: [UInt8] = []
    private var use = SocketTraffic()
    /// Tells that a publisher has come, or come back, and of several at once only once. For one consumer.
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

    /// What happened to the socket's connections so far.
    public nonisolated var connectionEvents: ConnectionEvents { monitor.events }

    /// The endpoints that it is connected to and whose publisher is there, as `connect(to:)` was given them; not those
    /// inside the process.
    public nonisolated var connectedEndpoints: Set<String> { monitor.connectedEndpoints }

    /// Connects to a publisher, now or whenever it is there. A name is looked up by libzmq, on the thread that all
    /// sockets share, and only its first address is taken: give addresses.
    public func connect(to endpoint: String) throws(ZeroMQError) { try socket.connect(to: endpoint) }

    /// Listens for publishers that connect, and returns the endpoint with its real port.
    public func bind(to endpoint: String) throws(ZeroMQError) -> String { try socket.bind(to: endpoint) }

    /// Leaves a publisher.
    public func disconnect(from endpoint: String) throws(ZeroMQError) {
        try socket.disconnect(from: endpoint)
        monitor.forget(endpoint)
    }

    /// Has batches tell which address messages of a topic came from: `UnsafeMessages.origin(of:)`. For few of many
    /// messages, since each costs a string.
    public func tellOrigins(of prefix: String) { originTopic = Array(prefix.utf8) }

    /// Asks for messages whose first frame starts with a prefix. Counted: unsubscribe as often.
    public func subscribe(to prefix: String) throws(ZeroMQError) { try socket.set(ZMQ_SUBSCRIBE, prefix: prefix) }

    /// Takes back one `subscribe(to:)`.
    public func unsubscribe(from prefix: String) throws(ZeroMQError) {
        try socket.set(ZMQ_UNSUBSCRIBE, prefix: prefix)
    }

    /// Waits for messages and returns what is there: at least one.
    /// - Parameters:
    ///   - limit: the most messages to take.
    ///   - maximumBytes: no further message is taken once the batch holds this much.
    ///   - batch: its memory is used again; its messages are forgotten.
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

    /// Takes what arrives, batch by batch, until the task is cancelled. Memory is used again.
    /// - Throws: `CancellationError`, `ZeroMQError` if the socket fails, and what `take` throws.
    public func forEachBatch(_ take: (MessageBatch) async throws -> Void) async throws -> Never {
        var batch = MessageBatch()
        while true {
            batch = try await next(reusing: consume batch)
            try await take(batch)
        }
    }

    func takeTraffic() -> SocketTraffic { socket.take(&use) }
}
