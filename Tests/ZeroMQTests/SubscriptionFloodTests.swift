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
        // What is beyond it would not be sent.
        options.sendHighWaterMark = 8_000
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
}
