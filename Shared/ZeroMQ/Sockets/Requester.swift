import CZeroMQ

/// A REQ socket on a `SocketThread`: one request after another, each with a time limit.
///
/// A request that times out or is cancelled leaves the requester usable (ZMQ_REQ_RELAXED, ZMQ_REQ_CORRELATE).
public actor Requester: ConnectionUser {
    /// The received bytes that show that a reply is arriving; a handshake and heartbeats have fewer.
    package static let leastProgress = 1_024

    private let thread: SocketThread
    private let socket: Socket
    private var endpoint: String
    private let monitor: SocketMonitor
    private var use = SocketTraffic()
    /// The calls in progress, in order. The first has the turn; raising an interruption tells its call so.
    private var turns: [Interruption] = []

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
    ///   - timeout: counted from the call.
    ///   - connecting: how long to wait for a connection, within `timeout`; nil if only `timeout` limits it.
    ///   - silence: how long to wait for bytes of the reply, within `timeout`; nil if only `timeout` limits it.
    /// - Throws: `ZeroMQError` with `timedOut`, or with `notConnected` after `connecting`; `CancellationError`.
    public func request(
        _ frames: [[UInt8]], at endpoint: String? = nil, timeout: Duration, connecting: Duration? = nil,
        silence: Duration? = nil
    ) async throws -> [[UInt8]] {
        let deadline = MonotonicClock.now + timeout.inNanoseconds
        let turn = Interruption()
        turns.append(turn)
        defer {
            turns.removeAll { $0 === turn }
            // If another call had the turn, it still has it, and ignores this.
            turns.first?.raise()
        }
        if turns.count > 1 { try await thread.sleep(until: deadline, interruptedBy: turn) }
        try Task.checkCancellation()
        guard turns.first === turn, MonotonicClock.now < deadline else { throw overdue(.timedOut, at: endpoint) }
        if let endpoint { try connect(to: endpoint) }

        let connected = min(deadline, MonotonicClock.now + (connecting ?? timeout).inNanoseconds)
        // A REQ socket without a connection queues nothing, so nothing is sent after the limit.
        while try !socket.send(frames) {
            guard
                try await thread.wait(socket: socket.handle, events: Int16(ZMQ_POLLOUT), deadline: connected)
            else { throw overdue(connected < deadline ? .notConnected : .timedOut, at: endpoint) }
        }
        var reply = MessageBatch()
        var received = monitor.received
        let silence = (silence ?? timeout).inNanoseconds
        var limit = min(deadline, MonotonicClock.now + silence)
        while try !socket.receive(into: &reply, counting: &use) {
            if try await thread.wait(socket: socket.handle, deadline: limit) { continue }
            let before = received
            received = monitor.received
            guard limit < deadline, received - before >= Self.leastProgress else {
                throw overdue(.timedOut, at: endpoint)
            }
            limit = min(deadline, MonotonicClock.now + silence)
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

    private func overdue(_ code: ZeroMQError.Code, at endpoint: String?) -> ZeroMQError {
        ZeroMQError(code, during: "request to \(endpoint ?? self.endpoint)")
    }
}
