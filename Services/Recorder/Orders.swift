import RecorderCore

/// Effects that take time, in a queue for each task that carries them out.
struct Orders: Sendable {
    /// Effects that one task carries out, one after the other.
    ///
    /// Not bounded here: the core asks for one thing of a kind at a time, or for one of a kind and stream.
    struct Queue: Sendable {
        private let orders: AsyncStream<Recordings.Effect>
        private let giving: AsyncStream<Recordings.Effect>.Continuation

        init(keeping policy: AsyncStream<Recordings.Effect>.Continuation.BufferingPolicy = .unbounded) {
            (orders, giving) = AsyncStream.makeStream(bufferingPolicy: policy)
        }

        func give(_ effect: Recordings.Effect) { giving.yield(effect) }

        /// Hands over each effect in turn, until the task is cancelled.
        func forEach(
            isolation: isolated (any Actor)? = #isolation, _ body: (Recordings.Effect) async throws -> Void
        ) async throws {
            for await effect in orders { try await body(effect) }
            throw CancellationError()
        }
    }

    let log = Queue()
    let files = Queue()
    let syncs = Queue()
    let documents = Queue()
    let publishers = Queue()
    let subscriptions = Queue()
    // Of these, what was asked for last is enough.
    let logManager = Queue(keeping: .bufferingNewest(1))
    let wakes = Queue(keeping: .bufferingNewest(1))
}
