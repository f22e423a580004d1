import Testing
import ZeroMQ

/// PUB/SUB over inproc and TCP, as the services use it.
@Suite(.timeLimit(.minutes(1)))
struct PubSubTests {
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    @Test func framesArriveWholeAndInOrder() async throws {
        let publisher = try Publisher(context: context)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let subscriber = try await subscribed(to: endpoint, publisher: publisher)
        // In portions below the high-water mark, beyond which a publisher drops messages.
        for portion in 0..<10 {
            var next = portion * 100
            for number in next..<next + 100 { try publisher.publish([utf8("samples/a"), utf8("\(number)"), []]) }
            while next < (portion + 1) * 100 {
                let batch = try await subscriber.next(limit: 30)
                #expect(batch.count <= 30)
                for message in 0..<batch.count where batch[message].first != utf8("hello") {
                    #expect(batch[message] == [utf8("samples/a"), utf8("\(next)"), []])
                    next += 1
                }
            }
        }
    }

    @Test func onlySubscribedPrefixesArrive() async throws {
        let publisher = try Publisher(context: context)
        let endpoint = try publisher.bind(to: "inproc://prefixes")
        let subscriber = try await subscribed(to: endpoint, publisher: publisher)
        try publisher.publish([utf8("samples/right/a")])
        try publisher.publish([utf8("samples/left/a")])
        try publisher.publish([utf8("samples/a/last")])
        #expect(try await messages(from: subscriber, until: utf8("samples/a/last")) == [[utf8("samples/a/last")]])
    }

    @Test func messagesOfABatchComeInTheirOrder() async throws {
        let publisher = try Publisher(context: context)
        let endpoint = try publisher.bind(to: "inproc://batch")
        let subscriber = try await subscribed(to: endpoint, publisher: publisher)
        let sent = [[utf8("samples/0"), []], [utf8("samples/1")], [utf8("samples/2"), utf8("1"), utf8("2")]]
        var batch = MessageBatch()
        for _ in 0..<2 {
            batch.removeAll()
            for message in sent {
                for frame in message { frame.withUnsafeBytes { batch.appendFrame($0) } }
                batch.endMessage()
            }
            try publisher.publish(batch)
        }
        // Published messages no longer use the batch's memory.
        batch.removeAll()
        try publisher.publish([utf8("samples/end")])
        #expect(
            try await messages(from: subscriber, until: utf8("samples/end")) == sent + sent + [[utf8("samples/end")]])
    }

    @Test func aCancelledWaitEndsAndTheSubscriberStaysUsable() async throws {
        let publisher = try Publisher(context: context)
        let endpoint = try publisher.bind(to: "inproc://cancelled")
        let subscriber = try await subscribed(to: endpoint, publisher: publisher)
        let waiting = Task { try await subscriber.next() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { while true { _ = try await waiting.value } }
        try publisher.publish([utf8("samples/a")])
        #expect(try await messages(from: subscriber, until: utf8("samples/a")) == [[utf8("samples/a")]])
    }

    @Test func aDeadlineEndsAWaitWithAnEmptyBatch() async throws {
        let subscriber = try Subscriber(context: context, thread: thread)
        let start = MonotonicClock.now
        let batch = try await subscriber.next(deadline: start + 20_000_000)
        #expect(batch.isEmpty)
        #expect(MonotonicClock.now >= start + 20_000_000)
    }

    @Test func aFullSubscriberLosesMessagesButNeverTheirOrder() async throws {
        var options = SocketOptions.publishing
        options.sendHighWaterMark = 10
        let publisher = try Publisher(context: context, options: options)
        let endpoint = try publisher.bind(to: "inproc://full")
        var receiving = SocketOptions()
        receiving.receiveHighWaterMark = 10
        let subscriber = try await subscribed(to: endpoint, publisher: publisher, options: receiving)
        for number in 0..<10_000 { try publisher.publish([utf8("samples/a"), utf8("\(number)")]) }
        let batch = try await subscriber.next(limit: 10_000)
        let numbers = (0..<batch.count).compactMap { message -> Int? in
            let frames = batch[message]
            return frames.count > 1 ? Int(String(decoding: frames[1], as: UTF8.self)) : nil
        }
        #expect(numbers.count < 100)
        #expect(numbers == numbers.sorted())
    }

    @Test func anEndpointInUseIsNamed() throws {
        let publisher = try Publisher(context: context)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let second = try Publisher(context: context)
        let error = #expect(throws: ZeroMQError.self) { try second.bind(to: endpoint) }
        #expect(error?.code == .addressInUse)
        #expect(
            error?.description
                == "zmq_bind \(endpoint): Address already in use. Another program listens there: stop it, or use another endpoint."
        )
    }

    @Test func connectionsAreCounted() async throws {
        let publisher = try Publisher(context: context, thread: thread)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let subscriber = try await subscribed(to: endpoint, publisher: publisher)
        while publisher.connectionEvents.handshakes < 1 || subscriber.connectionEvents.handshakes < 1 {
            await Task.yield()
        }
        #expect(publisher.connectionEvents.accepted == 1)
        #expect(subscriber.connectionEvents.connected == 1)
    }

    @Test func manyThreadsMayPublish() async throws {
        let publisher = try Publisher(context: context)
        let endpoint = try publisher.bind(to: "inproc://threads")
        let subscriber = try await subscribed(to: endpoint, publisher: publisher)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in 0..<4 {
                group.addTask {
                    for number in 0..<100 { try publisher.publish([utf8("samples/\(name)"), utf8("\(number)")]) }
                }
            }
            try await group.waitForAll()
        }
        try publisher.publish([utf8("samples/end")])
        let received = try await messages(from: subscriber, until: utf8("samples/end"))
        #expect(received.count == 401)
        for name in 0..<4 {
            let numbers = received.filter { $0[0] == utf8("samples/\(name)") }.map { $0[1] }
            #expect(numbers == (0..<100).map { utf8("\($0)") })
        }
    }

    /// A subscriber of "samples/a…" whose subscription has arrived: a message is published until the subscriber receives it.
    private func subscribed(
        to endpoint: String, publisher: Publisher, options: SocketOptions = SocketOptions()
    ) async throws -> Subscriber {
        let subscriber = try Subscriber(context: context, thread: thread, options: options)
        for prefix in ["hello", "samples/a", "samples/0", "samples/1", "samples/2", "samples/3", "samples/end"] {
            try await subscriber.subscribe(to: prefix)
        }
        try await subscriber.connect(to: endpoint)
        while true {
            try publisher.publish([utf8("hello")])
            let batch = try await subscriber.next(deadline: MonotonicClock.now + 5_000_000)
            if !batch.isEmpty { return subscriber }
        }
    }

    private func messages(from subscriber: Subscriber, until topic: [UInt8]) async throws -> [[[UInt8]]] {
        var received: [[[UInt8]]] = []
        while received.last?.first != topic {
            let batch = try await subscriber.next()
            received += (0..<batch.count).map { batch[$0] }.filter { $0[0] != utf8("hello") }
        }
        return received
    }
}

func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }
