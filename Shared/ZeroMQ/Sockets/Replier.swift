import CZeroMQ

/// The answering side of REQ/REP on a `SocketThread`, for any number of askers at once.
///
/// A ROUTER socket in place of a REP: a slow request does not hold up the next asker's, and a peer that breaks
/// the protocol can't leave the socket in a state where it serves nobody. A plain REQ socket notices no difference.
public actor Replier: ConnectionUser {
    /// A request that waits for its reply.
    public struct Request: Sendable {
        /// Who asked: identity frames up to and with the empty delimiter.
        let envelope: [[UInt8]]
        /// The connection's file descriptor, by which libzmq knows who asked.
        let descriptor: Int32
        /// What was asked.
        public let frames: [[UInt8]]
        /// Whose key the asker has shown, as the authenticator let it in; nil if no key was asked for.
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

    /// What happened to the socket's connections so far.
    public nonisolated var connectionEvents: ConnectionEvents { monitor.events }

    /// Listens on an endpoint, and returns it with its real port where `*` was asked.
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
        // Identity, what a correlating REQ adds, an empty frame, then the request. A DEALER that sends no empty frame
        // is answered without one.
        let end = message.dropFirst().firstIndex(of: []).map { $0 + 1 } ?? 1
        return Request(
            envelope: Array(message[..<end]), descriptor: use.lastDescriptor, frames: Array(message[end...]),
            user: user)
    }

    /// What the authenticator called the peer (zmq_msg_gets(3)); what was sent within the process has no such name.
    private static func user(of frame: inout zmq_msg_t) -> String? {
        guard let name = zmq_msg_gets(&frame, "User-Id"), name.pointee != 0 else { return nil }
        return String(cString: name)
    }

    /// Answers a request. For an asker that has gone, or does not read, the reply is dropped.
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
