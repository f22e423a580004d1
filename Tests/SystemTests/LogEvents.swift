import MessageBus
import Messages
import Synchronization
import TestSupport
import ZeroMQ

/// Collects a log-manager's events about files and thresholds, in order.
final class LogEvents: Sendable {
    private let subscriber: Subscriber
    private let heard = Mutex<[LogFileEvent]>([])

    private init(_ subscriber: Subscriber) {
        self.subscriber = subscriber
    }

    /// Listens as long as a closure runs.
    static func listening(to keeper: LogKeeper, _ body: (LogEvents) async throws -> Void) async throws {
        let subscriber = try Subscriber(context: keeper.context, thread: keeper.thread)
        try await subscriber.subscribe(to: TopicArea.log)
        try await subscriber.connect(to: keeper.ready.publish)
        let events = LogEvents(subscriber)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await events.collect() }
            defer { tasks.cancelAll() }
            try await body(events)
        }
    }

    private func collect() async throws {
        while true {
            let batch = try await subscriber.next()
            try batch.withUnsafeMessages { messages in
                for message in 0..<messages.count {
                    let event = try EventFrames(message, of: messages).decode(LogFileEvent.self)
                    heard.withLock { $0.append(event) }
                }
            }
        }
    }

    var all: [LogFileEvent] { heard.withLock { $0 } }
    var removedCount: Int { all.count { $0.change == .removed } }
}
