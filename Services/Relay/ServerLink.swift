import NATS
import Synchronization

/// A connection to NATS, and what its library says of it on threads of its own: it waits here until the engine takes it.
///
/// Bounded: acknowledgements by the messages under way, which the core bounds.
final class ServerLink: Sendable {
    private let waiting = Mutex<[NATSConnection.PublishResult]>([])
    /// Says that there is something to take. Raised twice before that, it is once.
    let news: AsyncStream<Void>
    private let newsContinuation: AsyncStream<Void>.Continuation

    init() {
        (news, newsContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Connects. That may wait for servers: call it on a thread that may be blocked.
    func connect(_ settings: NATSSettings) throws(NATSError) -> NATSConnection {
        let connection = try NATSConnection(
            settings, connected: { [newsContinuation] _ in newsContinuation.yield() },
            acknowledged: { [self] result in
                waiting.withLock { $0.append(result) }
                newsContinuation.yield()
            })
        newsContinuation.yield()
        return connection
    }

    /// What became of messages since the last time.
    func take() -> [NATSConnection.PublishResult] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
