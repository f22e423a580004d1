package import Messages
import MessageBus
import Synchronization
package import ZeroMQ

/// Collects the events that a program publishes, subscribed before the test begins.
package final class PublishedEvents<Published: Event>: Sendable {
    /// The source of the probe that shows that the subscription works.
    package static var tester: String { "test" }

    private let subscriber: Subscriber
    private let heard = Mutex<[Published]>([])
    private let hasJoined = Mutex(false)

    /// Subscribes to a program's events of an area.
    package init(of area: String, at endpoint: String, context: Context, thread: SocketThread) async throws {
        subscriber = try Subscriber(context: context, thread: thread)
        try await subscriber.subscribe(to: area)
        try await subscriber.connect(to: endpoint)
    }

    /// All events so far, in order.
    package var all: [Published] { heard.withLock { $0 } }

    /// Collects events until the task is cancelled.
    package func collect() async throws {
        try await subscriber.forEachBatch { batch in
            try batch.withUnsafeMessages { messages in
                for message in 0..<messages.count {
                    let event = try EventFrames(message, of: messages).decode(Published.self)
                    if event.source == Self.tester {
                        hasJoined.withLock { $0 = true }
                    } else {
                        heard.withLock { $0.append(event) }
                    }
                }
            }
        }
    }

    /// Publishes a probe, whose source is `tester`, until it is received.
    package func join(_ probe: Published, by publish: (Published) throws -> Void) async throws {
        try await eventually("the subscription to \(probe.topic)") {
            try publish(probe)
            return hasJoined.withLock { $0 }
        }
    }
}
