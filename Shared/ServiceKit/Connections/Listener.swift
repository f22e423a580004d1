package import ZeroMQ

/// Listens to programs, at every address that the names in their endpoints have now.
package struct Listener: Sendable {
    /// How long a program that has come may take to know that it is listened to.
    private static let subscribing = Duration.seconds(1)
    private let subscriber: Subscriber
    private let connections: Connections

    init(_ subscriber: Subscriber, _ connections: Connections) {
        self.subscriber = subscriber
        self.connections = connections
    }

    /// What happened to the socket's connections so far.
    var connectionEvents: ConnectionEvents { subscriber.connectionEvents }

    /// Asks for messages whose first frame starts with a prefix. Counted: unsubscribe as often.
    package func subscribe(to prefix: String) async throws(ZeroMQError) { try await subscriber.subscribe(to: prefix) }

    /// Takes back one `subscribe(to:)`.
    package func unsubscribe(from prefix: String) async throws(ZeroMQError) {
        try await subscriber.unsubscribe(from: prefix)
    }

    /// Has batches tell which address messages of a topic came from.
    package func tellOrigins(of prefix: String) async { await subscriber.tellOrigins(of: prefix) }

    /// Calls a closure soon after a program has come, or come back, until the task is cancelled: what it published before
    /// was not heard.
    package func onReconnect(_ look: () async throws -> Void) async throws {
        for await _ in subscriber.arrivals {
            try await Task.sleep(for: Self.subscribing)
            try await look()
        }
        throw CancellationError()
    }

    /// Takes what arrives, batch by batch, until the task is cancelled, and keeps connected meanwhile.
    /// - Throws: `CancellationError`, `ZeroMQError` if the socket fails, and what `take` throws.
    package func forEachBatch(_ take: @Sendable (MessageBatch) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            // It ends when it is cancelled, and not before.
            group.addTask { try await connections.keepUp() }
            try await subscriber.forEachBatch(take)
        }
    }
}
