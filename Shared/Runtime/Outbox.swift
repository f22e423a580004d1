import Logging
import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// Publishes an engine's events in order, but not on the engine's thread: the end of a session of a thousand streams announces
/// a thousand files, and samples must not wait for that.
///
/// It has no bound of its own: a core emits an event for each input, and does not wait for its subscribers.
@usableFromInline
struct Outbox: Sendable {
    private enum Item: Sendable {
        case event(any Event)
        /// Finished once everything before it is published.
        case mark(AsyncStream<Void>.Continuation)
    }

    private let publisher: EventPublisher?
    private let logger: Logger
    private let items: AsyncStream<Item>
    private let continuation: AsyncStream<Item>.Continuation

    /// - Parameter publisher: nil to publish nothing.
    init(_ publisher: EventPublisher?, logger: Logger) {
        self.publisher = publisher
        self.logger = logger
        (items, continuation) = AsyncStream.makeStream()
    }

    func add(_ event: any Event) { if publisher != nil { continuation.yield(.event(event)) } }

    /// Publishes an event at once. A failure is only logged, because the event's contents are also on disk.
    func publish(_ event: any Event) {
        do {
            try publisher?.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// Publishes encoded messages at once.
    func publish(_ messages: MessageBatch) throws { try publisher?.publish(messages) }

    /// Publishes queued events until the task is cancelled.
    @usableFromInline func run() async throws {
        for await item in items {
            switch item {
            case .event(let event): publish(event)
            case .mark(let waiting): waiting.finish()
            }
        }
        throw CancellationError()
    }

    /// Returns once all events so far are published, `run` has ended, or this task is cancelled.
    @usableFromInline func drain() async {
        let (drained, waiting) = AsyncStream.makeStream(of: Void.self)
        if case .terminated = continuation.yield(.mark(waiting)) { return }
        for await _ in drained {}
    }
}
