import CZeroMQ

/// A REQ socket on a `SocketThread`: one request after another, each with a time limit.
///
/// A request that times out or is cancelled leaves the requester usable (ZMQ_REQ_RELAXED, ZMQ_REQ_CORRELATE).
public actor Requester: ConnectionUser {
    private let thread: SocketThread
    private let socket: Socket
    private var endpoint: String
    private let monitor: SocketMonitor
    private var use = SocketTraffic()
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// The thread that owns the socket.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the socket and connects it, as soon as the other side is reachable.
    /// - Parameter endpoint: nil if each request names its endpoint.
    public init(
        context: Context, thread: SocketThread, endpoint: String?, options: SocketOptions = SocketOptions()
    ) throws(ZeroMQError) {
        self.thread = thread
        self.endpoint = endpoint ?? ""
        var options = options.asking
        // Only one reply is awaited at a time; others need not queue.
        options.receiveHighWaterMark = min(16, options.receiveHighWaterMark)
        socket = try Socket.open(.request, in: context, options: options)
        monitor = try SocketMonitor(of: socket, as: .request, options: options, in: context, on: thread)
        if let endpoint { try socket.connect(to: endpoint) }
        monitor.setOwner(self)
    }

    /// Sends a request and waits for its reply. Calls made meanwhile wait for their turn.
    /// - Parameters:
    ///   - endpoint: the endpoint to connect to first; nil to keep the current connection.
    ///   - timeout: counted from the moment the request is sent.
    /// - Throws: `ZeroMQError` with `timedOut`, or `CancellationError`.
    public func request(_ frames: [[UInt8]], at endpoint: String? = nil, timeout: Duration) async throws -> [[UInt8]] {
        if isBusy {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isBusy = true
        }
        // `isBusy` stays set while the turn passes to the next call, so that no other call comes between.
        defer { if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() } }
        try Task.checkCancellation()
        if let endpoint { try connect(to: endpoint) }

        let deadline = MonotonicClock.now + timeout.inNanoseconds
        // A REQ socket without a connection queues nothing, so nothing is sent after the deadline.
        while try !socket.send(frames) {
            guard
                try await thread.wait(socket: socket.handle, events: Int16(ZMQ_POLLOUT), deadline: deadline)
            else { throw timedOut }
        }
        var reply = MessageBatch()
        while try !socket.receive(into: &reply, counting: &use) {
            guard try await thread.wait(socket: socket.handle, deadline: deadline) else { throw timedOut }
        }
        return reply[0]
    }

    func takeTraffic() -> SocketTraffic { socket.take(&use) }

    private func connect(to endpoint: String) throws(ZeroMQError) {
        if endpoint == self.endpoint { return }
        if !self.endpoint.isEmpty { try socket.disconnect(from: self.endpoint) }
        self.endpoint = ""
        try socket.connect(to: endpoint)
        self.endpoint = endpoint
    }

    private var timedOut: ZeroMQError { ZeroMQError(.timedOut, during: "request to \(endpoint)") }
}
