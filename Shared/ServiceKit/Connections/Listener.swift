package import ZeroMQ

/// Subscribes to programs, at all current addresses of the names in their endpoints.
package struct Listener: Sendable {
    /// How long a program that has connected may take to process this program's subscriptions.
    private static let subscribing = Duration.seconds(1)
    private let subscriber: Subscriber
    private let connections: Connections

    init(_ subscriber: Subscriber, _ connections: Connections) {
        self.subscriber = subscriber
        self.connections = connections
    }

    /// The socket's connection events so far.
    var connectionEvents: ConnectionEvents { subscriber.connectionEvents }

    /// Subscribes to messages whose first frame starts with a prefix. Counted: unsubscribe as often.
    package func subscribe(to prefix: String) async throws(ZeroMQError) { try await subscriber.subscribe(to: prefix) }

    /// Undoes one `subscribe(to:)`.
    package func unsubscribe(from prefix: String) async throws(ZeroMQError) {
        try await subscriber.unsubscribe(from: prefix)
    }

    /// Makes batches record the senders' addresses of messages whose topic starts with a prefix.
    package func tellOrigins(of prefix: String) async { await subscriber.tellOrigins(of: prefix) }

    /// Calls a closure soon after each time that a program has connected or reconnected, until the task is cancelled: events
    /// that it published before were missed.
    package func onReconnect(_ look: () async throws -> Void) async throws {
        for await _ in subscriber.arrivals {
            try await Task.sleep(for: Self.subscribing)
            try await look()
        }
        throw CancellationError()
    }

    /// Takes received batches until the task is cancelled, and maintains connections meanwhile.
    /// - Throws: `CancellationError`, `ZeroMQError` if the socket fails, and the errors of `take`.
    package func forEachBatch(_ take: @Sendable (MessageBatch) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            // It ends only when it is cancelled.
            group.addTask { try await connections.keepUp() }
            try await subscriber.forEachBatch(take)
        }
    }
}
