import Logging
import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// Publishes the events of an engine in their order, not on the engine's thread: the end of a session of a thousand streams
/// announces a thousand files, and no sample may wait for that.
///
/// Has no bound of its own: a core emits an event for each thing that it was told, and does not wait for its subscribers.
@usableFromInline
struct Outbox: Sendable {
    private enum Item: Sendable {
        case event(any Event)
        /// Everything before it was published.
        case mark(AsyncStream<Void>.Continuation)
    }

    private let publisher: EventPublisher?
    private let logger: Logger
    private let items: AsyncStream<Item>
    private let continuation: AsyncStream<Item>.Continuation

    /// - Parameter publisher: nil if nobody is told.
    init(_ publisher: EventPublisher?, logger: Logger) {
        self.publisher = publisher
        self.logger = logger
        (items, continuation) = AsyncStream.makeStream()
    }

    func add(_ event: any Event) { if publisher != nil { continuation.yield(.event(event)) } }

    /// Publishes an event now. One that can't be sent is logged: what it says is on disk too.
    func publish(_ event: any Event) {
        do {
            try publisher?.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// Publishes messages that are encoded already, now.
    func publish(_ messages: MessageBatch) throws { try publisher?.publish(messages) }

    /// Publishes, until the task is cancelled.
    @usableFromInline func run() async throws {
        for await item in items {
            switch item {
            case .event(let event): publish(event)
            case .mark(let waiting): waiting.finish()
            }
        }
        throw CancellationError()
    }

    /// Returns when all events so far were published, or `run` has ended, or this task is cancelled.
    @usableFromInline func drain() async {
        let (drained, waiting) = AsyncStream.makeStream(of: Void.self)
        if case .terminated = continuation.yield(.mark(waiting)) { return }
        for await _ in drained {}
    }
}
