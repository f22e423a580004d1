public import Messages
public import ZeroMQ

/// Serves a router over a REP endpoint: several requests concurrently, each with a time limit.
public final class ReplyServer: Sendable {
    /// The number of requests answered concurrently; further ones wait in the socket. A long request counts as several, because
    /// it is in memory more than once while it is read.
    private static let maximumConcurrency = 64
    /// In bytes: each further such length counts as another request.
    private static let ordinaryLength = 1 << 14
    /// The maximum weight of a long request, so that it need not wait until all others are answered, and delay those behind it.
    private static let largestWeight = maximumConcurrency / 4

    /// The endpoint it is bound to, with the actual port.
    public let endpoint: String
    private let replier: Replier
    private let router: RequestRouter
    private let timeLimit: Duration
    private let role: @Sendable (_ user: String?) -> Role?
    private let refused: @Sendable (_ user: String?, _ error: RequestError) -> Void

    /// Binds a REP socket.
    /// - Parameters:
    ///   - timeLimit: a handler that takes longer is cancelled, and the client gets an error. The handler counts as running
    ///     until it ends.
    ///   - role: the client's role by its key in Z85, evaluated for each request. The key is nil if the socket requires none.
    ///   - refused: called if a client's role does not allow its request.
    public init(
        listeningOn endpoint: String, router: RequestRouter, context: Context, thread: SocketThread,
        timeLimit: Duration = .seconds(30), options: SocketOptions = .replying,
        role: @escaping @Sendable (_ user: String?) -> Role? = { $0 == nil ? .delete : nil },
        refused: @escaping @Sendable (_ user: String?, _ error: RequestError) -> Void = { _, _ in }
    ) async throws {
        replier = try Replier(context: context, thread: thread, options: options)
        self.endpoint = try await replier.bind(to: endpoint)
        self.router = router
        self.timeLimit = timeLimit
        self.role = role
        self.refused = refused
    }

    /// The socket's connection events so far.
    public var connectionEvents: ConnectionEvents { replier.connectionEvents }

    /// Answers requests until the task is cancelled, then waits for running handlers.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            var underWay = 0
            do {
                while true {
                    let request = try await replier.next()
                    let length = request.frames.reduce(0) { $0 + $1.count }
                    let weight = min(1 + length / Self.ordinaryLength, Self.largestWeight)
                    while underWay > 0, underWay + weight > Self.maximumConcurrency {
                        underWay -= try await group.next() ?? 0
                    }
                    underWay += weight
                    group.addTask {
                        try await self.answer(request)
                        return weight
                    }
                }
            } catch is CancellationError {
                group.cancelAll()
            }
            try await group.waitForAll()
        }
    }

    /// Answers a request, and returns when its handler has ended. The client does not wait for that: a handler that waits for a
    /// hung disk may not notice its cancellation.
    private func answer(_ request: Replier.Request) async throws {
        try await withThrowingTaskGroup(of: [[UInt8]]?.self) { group in
            group.addTask {
                await self.router.answer(request.frames, as: self.role(request.user)) { error in
                    self.refused(request.user, error)
                }
            }
            group.addTask {
                try? await Task.sleep(for: self.timeLimit)
                return Task.isCancelled ? nil : self.router.timedOut(request.frames, after: self.timeLimit)
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return try await self.replier.reply(to: request, with: result) }
            }
        }
    }
}
