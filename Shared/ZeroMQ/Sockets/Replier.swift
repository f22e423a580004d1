import CZeroMQ

/// The answering side of REQ/REP on a `SocketThread`, for any number of concurrent clients.
///
/// A ROUTER socket instead of a REP: a slow request does not delay other clients' requests, and a peer that violates the
/// protocol can't make the socket unusable. A plain REQ socket notices no difference.
public actor Replier: ConnectionUser {
    /// A request that waits for its reply.
    public struct Request: Sendable {
        /// The client's identity frames, up to and including the empty delimiter.
        let envelope: [[UInt8]]
        /// The connection's file descriptor, by which libzmq identifies the client.
        let descriptor: Int32
        /// The request's frames.
        public let frames: [[UInt8]]
        /// The client's key in Z85, as the authenticator admitted it; nil if the socket requires no keys.
        public let user: String?
    }

    private let thread: SocketThread
    private let socket: Socket
    private let monitor: SocketMonitor
    private var use = SocketTraffic()

    /// The thread that owns the socket.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the socket.
    public init(context: Context, thread: SocketThread, options: SocketOptions = .replying) throws(ZeroMQError) {
        self.thread = thread
        socket = try Socket.open(.router, in: context, options: options)
        monitor = try SocketMonitor(of: socket, as: .reply, options: options, in: context, on: thread)
        monitor.setOwner(self)
    }

    /// The socket's connection events so far.
    public nonisolated var connectionEvents: ConnectionEvents { monitor.events }

    /// Binds the socket to an endpoint, and returns it with the actual port instead of `*`.
    public func bind(to endpoint: String) throws(ZeroMQError) -> String { try socket.bind(to: endpoint) }

    /// Waits for the next request.
    /// - Throws: `CancellationError`, and `ZeroMQError` if the socket fails.
    public func next() async throws -> Request {
        var batch = MessageBatch()
        var user: String?
        while try !socket.receive(into: &batch, counting: &use, inspecting: { user = Self.user(of: &$0) }) {
            _ = try await thread.wait(socket: socket.handle)
        }
        let message = batch[0]
        // Identity, a correlating REQ's additional frames, an empty frame, then the request. A DEALER that sends no empty frame
        // gets a reply without one.
        let end = message.dropFirst().firstIndex(of: []).map { $0 + 1 } ?? 1
        return Request(
            envelope: Array(message[..<end]), descriptor: use.lastDescriptor, frames: Array(message[end...]),
            user: user)
    }

    /// The peer's name from the authenticator (zmq_msg_gets(3)); in-process messages have none.
    private static func user(of frame: inout zmq_msg_t) -> String? {
        guard let name = zmq_msg_gets(&frame, "User-Id"), name.pointee != 0 else { return nil }
        return String(cString: name)
    }

    /// Answers a request. The reply is dropped if the client has gone or does not read.
    public func reply(to request: Request, with frames: [[UInt8]]) throws(ZeroMQError) {
        do {
            _ = try socket.send(request.envelope + frames)
            use.send(bytes: frames.reduce(0) { $0 + $1.count }, to: request.descriptor)
        } catch  where error.code == .hostUnreachable {
            return
        }
    }

    func takeTraffic() -> SocketTraffic { socket.take(&use) }
}
