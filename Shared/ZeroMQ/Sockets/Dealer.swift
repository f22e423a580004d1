import CZeroMQ

/// A DEALER socket on a `SocketThread`, connected to one program. It can have any number of pending requests. Replies come in
/// any order, so each must name its request.
///
/// Used by one task at a time. The empty frame before each request is required by a REP socket at the other side.
public actor Dealer: ConnectionUser {
    /// The result of a wait.
    public struct Arrival: Sendable {
        /// The reply's frames; nil if there is none.
        public let reply: [[UInt8]]?
        /// Bytes received over this connection so far, including those of a reply that is not complete yet.
        public let received: Int
        /// Whether the connection has ended: pending requests are lost, without any other report.
        public let isBroken: Bool
    }

    private final class Connection {
        let socket: Socket
        let monitor: SocketMonitor
        var use = SocketTraffic()

        init(to endpoint: String, in context: Context, on thread: SocketThread, options: SocketOptions)
            throws(ZeroMQError)
        {
            socket = try Socket.open(.dealer, in: context, options: options)
            monitor = try SocketMonitor(of: socket, as: .request, options: options, in: context, on: thread)
            try socket.connect(to: endpoint)
        }
    }

    private let context: Context
    private let thread: SocketThread
    private let interruption = Interruption()
    private var connection: Connection?

    /// The thread that owns the socket.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Creates a dealer without a connection.
    public init(context: Context, thread: SocketThread) {
        self.context = context
        self.thread = thread
    }

    /// Opens a connection, as soon as the other side is reachable. An existing one ends, with all pending requests.
    public func connect(to endpoint: String, options: SocketOptions) throws(ZeroMQError) {
        connection = nil
        let made = try Connection(to: endpoint, in: context, on: thread, options: options.asking)
        made.monitor.setOwner(self) { [interruption] in interruption.raise() }
        connection = made
    }

    /// Ends the connection.
    public func disconnect() { connection = nil }

    /// Sends a request.
    /// - Returns: false if there is no connection, or if its queue is full.
    public func send(_ request: [UInt8]) throws(ZeroMQError) -> Bool {
        guard let connection else { return false }
        return try connection.socket.send([[], request])
    }

    /// Waits for a reply, an interruption, the connection's end or an instant of `MonotonicClock`.
    /// - Throws: `CancellationError`, and `ZeroMQError` if the socket fails.
    public func next(deadline: Int64?) async throws -> Arrival {
        var batch = MessageBatch()
        if try !receive(into: &batch) {
            _ = try await thread.wait(
                socket: connection?.socket.handle, deadline: deadline, interruptedBy: interruption)
            _ = try receive(into: &batch)
        }
        let frames = batch.isEmpty ? nil : batch[0]
        return Arrival(
            reply: frames.map { $0.first == [] ? Array($0.dropFirst()) : $0 },
            received: connection?.monitor.received ?? 0,
            isBroken: connection.map { $0.monitor.events.disconnected > 0 } ?? false)
    }

    /// Ends the current wait of `next`, or else the next one.
    public nonisolated func interrupt() { interruption.raise() }

    private func receive(into batch: inout MessageBatch) throws(ZeroMQError) -> Bool {
        guard let connection else { return false }
        return try connection.socket.receive(into: &batch, counting: &connection.use)
    }

    func takeTraffic() -> SocketTraffic {
        guard let connection else { return SocketTraffic() }
        return connection.socket.take(&connection.use)
    }
}
