import Testing
import ZeroMQ

/// REQ/REP with time limits, slow handlers and broken peers.
@Suite(.timeLimit(.minutes(1)))
struct RequestReplyTests {
    private let context: Context
    private let thread: SocketThread
    private let replier: Replier

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
        replier = try Replier(context: context, thread: thread)
    }

    @Test func aReplyComesBackWithAllItsFrames() async throws {
        let requester = try await connectedRequester()
        async let reply = requester.request([utf8("ping")], timeout: .seconds(10))
        let request = try await replier.next()
        #expect(request.frames == [utf8("ping")])
        try await replier.reply(to: request, with: [utf8("pong"), [], [1, 2, 3]])
        #expect(try await reply == [utf8("pong"), [], [1, 2, 3]])
    }

    @Test func anAbandonedRequestDoesNotSpoilTheNext() async throws {
        let requester = try await connectedRequester()
        let error = await #expect(throws: ZeroMQError.self) {
            _ = try await requester.request([utf8("slow")], timeout: .milliseconds(20))
        }
        #expect(error?.code == .timedOut)
        let slow = try await replier.next()
        async let reply = requester.request([utf8("fast")], timeout: .seconds(10))
        let fast = try await replier.next()
        try await replier.reply(to: slow, with: [utf8("late")])
        try await replier.reply(to: fast, with: [utf8("in time")])
        #expect(try await reply == [utf8("in time")])
    }

    @Test func aCancelledRequestLeavesTheRequesterUsable() async throws {
        let requester = try await connectedRequester()
        let cancelled = Task { try await requester.request([utf8("a")], timeout: .seconds(50)) }
        _ = try await replier.next()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
        async let reply = requester.request([utf8("b")], timeout: .seconds(10))
        let request = try await replier.next()
        try await replier.reply(to: request, with: [utf8("c")])
        #expect(try await reply == [utf8("c")])
    }

    @Test func requestsMadeAtOnceAreSentInTurn() async throws {
        let requester = try await connectedRequester()
        async let replies = withThrowingTaskGroup(of: [[UInt8]].self) { group in
            for number in 0..<20 {
                group.addTask { try await requester.request([utf8("\(number)")], timeout: .seconds(20)) }
            }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1[0]) }
        }
        for _ in 0..<20 {
            let request = try await replier.next()
            try await replier.reply(to: request, with: request.frames)
        }
        #expect(try await replies.count == 20)
    }

    @Test func theWaitForItsTurnCountsForARequest() async throws {
        let requester = try await connectedRequester()
        async let reply = requester.request([utf8("slow")], timeout: .seconds(20))
        let slow = try await replier.next()
        let error = await #expect(throws: ZeroMQError.self) {
            _ = try await requester.request([utf8("overdue")], timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        // The first request is still waiting, and the second one is never sent.
        async let nextReply = requester.request([utf8("next")], timeout: .seconds(20))
        try await replier.reply(to: slow, with: [utf8("done")])
        #expect(try await reply == [utf8("done")])
        let next = try await replier.next()
        #expect(next.frames == [utf8("next")])
        try await replier.reply(to: next, with: [utf8("done too")])
        #expect(try await nextReply == [utf8("done too")])
    }

    @Test func aRequestCancelledBeforeItsTurnEndsAtOnce() async throws {
        let requester = try await connectedRequester()
        async let reply = requester.request([utf8("slow")], timeout: .seconds(20))
        let slow = try await replier.next()
        let waiting = Task { try await requester.request([utf8("unwanted")], timeout: .seconds(50)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        try await replier.reply(to: slow, with: [utf8("done")])
        #expect(try await reply == [utf8("done")])
    }

    @Test func aSlowRequestDoesNotHoldUpTheNextAsker() async throws {
        let endpoint = try await replier.bind(to: "inproc://turns")
        let first = try Requester(context: context, thread: thread, endpoint: endpoint)
        let second = try Requester(context: context, thread: thread, endpoint: endpoint)
        async let slowReply = first.request([utf8("slow")], timeout: .seconds(10))
        let slow = try await replier.next()
        async let fastReply = second.request([utf8("fast")], timeout: .seconds(10))
        let fast = try await replier.next()
        try await replier.reply(to: fast, with: [utf8("done")])
        #expect(try await fastReply == [utf8("done")])
        try await replier.reply(to: slow, with: [utf8("done at last")])
        #expect(try await slowReply == [utf8("done at last")])
    }

    @Test func nobodyThereIsATimeout() async throws {
        let requester = try Requester(context: context, thread: thread, endpoint: "tcp://127.0.0.1:1")
        let error = await #expect(throws: ZeroMQError.self) {
            _ = try await requester.request([utf8("anybody?")], timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        #expect(error?.description.contains("tcp://127.0.0.1:1") == true)
    }

    /// Otherwise the request would be carried out long after its client gave up.
    @Test func aRequestThatNobodyTookIsNotDeliveredLater() async throws {
        let endpoint = "ipc://@holdfast-\(UInt64.random(in: 0 ... .max))"
        let requester = try Requester(context: context, thread: thread, endpoint: endpoint)
        let error = await #expect(throws: ZeroMQError.self) {
            _ = try await requester.request([utf8("start")], timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        _ = try await replier.bind(to: endpoint)
        async let reply = requester.request([utf8("status")], timeout: .seconds(50))
        let request = try await replier.next()
        #expect(request.frames == [utf8("status")])
        try await replier.reply(to: request, with: [utf8("idle")])
        #expect(try await reply == [utf8("idle")])
    }

    private func connectedRequester() async throws -> Requester {
        let endpoint = try await replier.bind(to: "tcp://127.0.0.1:*")
        return try Requester(context: context, thread: thread, endpoint: endpoint)
    }
}
