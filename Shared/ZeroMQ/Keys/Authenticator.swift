import CZeroMQ

/// Decides which peers a context's listening sockets serve: the ZAP 1.0 handler of RFC 27.
///
/// libzmq queries it in the middle of each handshake, and serves every peer if there is no handler. So a socket can become a
/// server only with an authenticator, and keeps it as long as it is open.
///
/// If the context's guard finds a socket full, new connections are refused during their handshakes. Closing them later would
/// cost too much: libzmq walks all subscriptions for each connection that ends after its handshake.
public final class Authenticator: Sendable, Hashable {
    private let handler: Handler
    private let answering: Task<Void, Never>

    /// Starts to answer. A context has only one authenticator.
    /// - Parameters:
    ///   - thread: the thread of the decisions. Preferably not one that data waits for, because a decision may read the disk.
    ///   - decide: whether to serve a peer with a key. Its handshake waits until this returns.
    public init(
        context: Context, thread: SocketThread,
        decide: @escaping @Sendable (AuthenticationRequest) -> Bool = { _ in false }
    ) throws(ZeroMQError) {
        let handler = try Handler(context: context, thread: thread, decide: decide)
        self.handler = handler
        // Ends with the last socket that has this authenticator.
        answering = Task { await handler.run() }
    }

    deinit { answering.cancel() }

    /// An authenticator is equal only to itself.
    public static func == (one: Authenticator, other: Authenticator) -> Bool { one === other }

    /// Hashes its identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Owns the socket, even after answering has ended: while it is bound, a handshake without an answer fails.
    private actor Handler {
        private let context: Context
        private let thread: SocketThread
        private let socket: Socket
        private let decide: @Sendable (AuthenticationRequest) -> Bool

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

        init(
            context: Context, thread: SocketThread, decide: @escaping @Sendable (AuthenticationRequest) -> Bool
        ) throws(ZeroMQError) {
            self.context = context
            self.thread = thread
            self.decide = decide
            // One request per handshake waits here, so a server's limit of connections bounds the queue.
            socket = try Socket.open(.router, in: context, options: SocketOptions())
            _ = try socket.bind(to: "inproc://zeromq.zap.01")
        }

        func run() async {
            var batch = MessageBatch()
            while !Task.isCancelled {
                batch.removeAll()
                guard let hasMessage = try? socket.receive(into: &batch) else { return }
                if hasMessage {
                    _ = try? socket.send(answer(to: batch[0]))
                } else {
                    guard (try? await thread.wait(socket: socket.handle)) != nil else { return }
                }
            }
        }

        /// The reply: envelope, version, request id, status code and text, user id, metadata.
        private func answer(to message: [[UInt8]]) -> [[UInt8]] {
            // The frames that route the reply end with an empty frame.
            let start = message.dropFirst().firstIndex(of: []).map { $0 + 1 } ?? 1
            let frames = message[start...]
            let verdict = Newcomer(frames).map(judge) ?? ["500", "not a request of a socket of ours", ""]
            return message[..<start] + [Newcomer.version, frames.dropFirst().first ?? []]
                + verdict.map { Array($0.utf8) } + [[]]
        }

        /// - Returns: status code and text, and user id. Refusals are temporary (300), because a libzmq client never tries
        ///   again after a 400.
        private func judge(_ newcomer: Newcomer) -> [String] {
            if context.fullSockets.contains(newcomer.socket) { return ["300", "no new connections now", ""] }
            guard let request = newcomer.request else { return ["200", "OK", ""] }
            guard decide(request) else { return ["300", "this key is not on the list", ""] }
            return ["200", "OK", request.client.text]
        }
    }
}
