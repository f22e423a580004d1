import Testing
import ZeroMQ

/// Subscribers to many topics.
@Suite(.timeLimit(.minutes(3)))
struct ManySubscriptionsTests {
    /// A recorder does this when it ends a session of many streams and begins the next, while samples keep arriving.
    @Test func subscriptionsAreTakenBackAndMadeAgainWhileSomethingIsPublished() async throws {
        let topics = (0..<1_500).map { "samples/device-\($0)/" }
        let context = try Context()
        let thread = try SocketThread(name: "test")
        var options = SocketOptions.publishing
        // Otherwise the last topics would be dropped in each round.
        options.sendHighWaterMark = 10 * topics.count
        let publisher = try Publisher(context: context, thread: thread, options: options)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let subscriber = try Subscriber(context: context, thread: thread)
        for topic in topics { try await subscriber.subscribe(to: topic) }
        try await subscriber.connect(to: endpoint)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                while true {
                    for topic in topics { try publisher.publish([Array(topic.utf8)]) }
                    // More often than the kernel probes whether a peer accepts more.
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            defer { tasks.cancelAll() }
            for _ in 0..<5 {
                var unheard = Set(topics)
                while !unheard.isEmpty {
                    try await subscriber.next().withUnsafeMessages { messages in
                        for message in 0..<messages.count {
                            unheard.remove(String(decoding: messages.frame(0, of: message), as: UTF8.self))
                        }
                    }
                }
                for topic in topics { try await subscriber.unsubscribe(from: topic) }
                for topic in topics { try await subscriber.subscribe(to: topic) }
            }
        }
    }
}
