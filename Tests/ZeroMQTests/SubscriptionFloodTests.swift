import Testing
import ZeroMQ

/// Subscribers that subscribe without end.
@Suite(.timeLimit(.minutes(1)))
struct SubscriptionFloodTests {
    @Test func whoSubscribesWithoutEndIsCutAndKeptOut() async throws {
        let context = try Context()
        let thread = try SocketThread(name: "test")
        let publisher = try Publisher(context: context, thread: thread)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let honest = try Subscriber(context: context, thread: thread)
        try await honest.connect(to: endpoint)
        while publisher.connectionEvents.handshakes < 1 { await Task.yield() }

        var options = SocketOptions()
        options.reconnectInterval = .milliseconds(1)
        let greedy = try Subscriber(context: context, thread: thread, options: options)
        for number in 0..<8_000 {
            try await greedy.subscribe(to: String(repeating: "a", count: 60) + "\(number)")
        }
        let start = ContinuousClock.now
        try await greedy.connect(to: endpoint)
        // Publishing has libzmq take subscriptions in.
        while publisher.connectionEvents.accepted < 4 {
            try publisher.publish([Array("meanwhile".utf8)])
            try await Task.sleep(for: .milliseconds(1))
        }
        // Each time the door is shut for half a second.
        #expect(ContinuousClock.now - start > .milliseconds(900))
        #expect(honest.connectionEvents.disconnected == 0)

        // Others come in when it opens.
        try await greedy.disconnect(from: endpoint)
        let newcomer = try Subscriber(context: context, thread: thread)
        try await newcomer.connect(to: endpoint)
        while newcomer.connectionEvents.handshakes < 1 { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// As a recorder does that ends a session of many streams and begins the next, while samples come all the time.
    @Test func subscriptionsAreTakenBackAndMadeAgainWhileSomethingIsPublished() async throws {
        let topics = (0..<1_500).map { "samples/device-\($0)/" }
        let context = try Context()
        let thread = try SocketThread(name: "test")
        let publisher = try Publisher(context: context, thread: thread)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let subscriber = try Subscriber(context: context, thread: thread)
        for topic in topics { try await subscriber.subscribe(to: topic) }
        try await subscriber.connect(to: endpoint)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                while true {
                    for topic in topics { try publisher.publish([Array(topic.utf8)]) }
                    // More often than the kernel asks again whether a peer takes more.
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
