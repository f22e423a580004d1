public import Messages
public import ZeroMQ

/// Serves a router over a REP endpoint: several requests at once, each within a time limit.
public final class ReplyServer: Sendable {
    /// Requests answered at the same time; further ones wait in the socket. Long ones count for several, since each is in
    /// memory more than once while it is read.
    private static let maximumConcurrency = 64
    /// From this length on a request counts for two, and so on.
    private static let ordinaryLength = 1 << 14
    /// The most that a long request counts for: one alone must not wait until all others are answered, and keep those behind it
    /// waiting.
    private static let largestWeight = maximumConcurrency / 4

    /// Where it listens, with its real port.
    public let endpoint: String
    private let replier: Replier
    private let router: RequestRouter
    private let timeLimit: Duration
    private let role: @Sendable (_ user: String?) -> Role?
    private let refused: @Sendable (_ user: String?, _ error: RequestError) -> Void

    /// Listens.
    /// - Parameters:
    ///   - timeLimit: a handler that takes longer is cancelled, and its asker told so. Until it ends it counts as under way.
    ///   - role: what a client may do, by its key in Z85; asked at each request. The key is nil if none was asked for.
    ///   - refused: told of a client that asked for what its role does not allow.
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

    /// What happened to the socket's connections so far.
    public var connectionEvents: ConnectionEvents { replier.connectionEvents }

    /// Answers requests until the task is cancelled; then waits for the handlers under way.
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

    /// Answers a request, and returns when its handler has ended: one that waits for a disk that hangs may not notice that
    /// it is cancelled, and its asker does not wait for it.
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
