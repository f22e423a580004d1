import MessageBus
import Messages
import Synchronization
import Testing
import ZeroMQ

/// Typed events and requests over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct BusTests {
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    @Test func anEventArrivesWithTopicBodyAndTime() async throws {
        let (publisher, endpoint) = try EventPublisher.listening(
            on: "tcp://127.0.0.1:*", context: context, thread: thread)
        let subscriber = try Subscriber(context: context, thread: thread)
        try await subscriber.subscribe(to: TopicArea.segment)
        try await subscriber.connect(to: endpoint)
        let event = SegmentFinished(
            source: "recorder", sequence: 0, session: "s1", log: "a_b", path: "p", bytes: 1, samples: 2, sha256: "00")
        let before = WallTime.now
        let batch = try await publishUntilHeard(by: subscriber) { try publisher.publish(event) }
        try batch.withUnsafeMessages { messages in
            let frames = try EventFrames(0, of: messages)
            #expect(String(decoding: frames.topic, as: UTF8.self) == "segment/s1/a_b")
            #expect(try frames.decode(SegmentFinished.self) == event)
            #expect(frames.packed == nil)
            let time = try #require(EventTime.time(in: frames.time))
            // The frame has microseconds; a Double of this size is exact to a quarter of one.
            #expect(time.seconds > before.seconds - 1e-5)
            #expect(time.seconds < WallTime.now.seconds + 1e-5)
            #expect(throws: MessageError.self) { try frames.decode(StreamOfAnotherSchema.self) }
        }
    }

    @Test func aPackedBatchHasFourFrames() async throws {
        let (publisher, endpoint) = try EventPublisher.listening(
            on: "inproc://packed", context: context, thread: thread)
        let subscriber = try Subscriber(context: context, thread: thread)
        try await subscriber.subscribe(to: "samples/a/")
        try await subscriber.connect(to: endpoint)
        let batch = try await publishUntilHeard(by: subscriber) {
            var body = ByteBuffer(capacity: 8)
            body.append(utf8: "{}")
            var packed: ByteBuffer? = ByteBuffer(capacity: 8)
            packed?.append(UInt8(7))
            var message = MessageBatch()
            message.append(
                topic: Array("samples/a/b".utf8), body: body, packed: packed,
                at: WallTime(nanosecondsSince1970: 1_795_219_200_000_007_000))
            try publisher.publish(message)
        }
        #expect(batch[0] == [Array("samples/a/b".utf8), Array("{}".utf8), Array("1795219200.000007".utf8), [7]])
    }

    @Test(
        arguments: [
            (0, "0.000000"), (999, "0.000000"), (1_000, "0.000001"), (60_000_000_000, "60.000000"),
            (1_795_219_200_123_456_789, "1795219200.123456"), (.max, "9223372036.854775"),
        ] as [(Int64, String)])
    func aTimeHasItsMicroseconds(nanoseconds: Int64, text: String) {
        let time = EventTime.text(of: WallTime(nanosecondsSince1970: nanoseconds))
        #expect(String(decoding: time, as: UTF8.self) == text)
    }

    @Test(arguments: [-1_000, -1_500_000_000, -1_795_219_200_000_001_000, .min] as [Int64])
    func aTimeBefore1970IsReadAsWritten(nanoseconds: Int64) throws {
        let time = EventTime.text(of: WallTime(nanosecondsSince1970: nanoseconds))
        let read = try #require(time.withUnsafeBytes { EventTime.time(in: $0) })
        #expect(abs(read.seconds - Double(nanoseconds) / 1e9) < 2e-6)
    }

    @Test func anEventOfTooFewFramesIsRefused() async throws {
        let publisher = try Publisher(context: context)
        let endpoint = try publisher.bind(to: "inproc://few")
        let subscriber = try Subscriber(context: context, thread: thread)
        try await subscriber.subscribe(to: "")
        try await subscriber.connect(to: endpoint)
        let batch = try await publishUntilHeard(by: subscriber) { try publisher.publish([[1], [2]]) }
        batch.withUnsafeMessages { messages in
            _ = #expect(throws: MessageError.self) { try EventFrames(0, of: messages) }
        }
    }

    @Test func aRequestKnowsItsReply() async throws {
        try await withServer { client in
            let reply = try await client.send(StreamsList(), timeout: .seconds(30))
            #expect(reply.streams.isEmpty)
        }
    }

    @Test func aRefusalIsThrown() async throws {
        try await withServer { client in
            let error = await #expect(throws: RequestError.self) {
                try await client.send(StreamsStop(stream: StreamName(device: "a", stream: "b")), timeout: .seconds(30))
            }
            #expect(error?.data?.reason == "unknownStream")
        }
    }

    @Test func aHandlerThatTakesTooLongIsCutOffAndTheNextIsServed() async throws {
        try await withServer(timeLimit: .seconds(1)) { client in
            let error = await #expect(throws: RequestError.self) {
                try await client.send(RecordingList(), timeout: .seconds(30))
            }
            #expect(error?.data?.reason == "timedOut")
            _ = try await client.send(StreamsList(), timeout: .seconds(30))
        }
    }

    /// For example, the handler waits for a thread that waits for a disk.
    @Test func theAskerOfAHandlerThatCantBeCancelledIsAnsweredToo() async throws {
        let hung = Hung()
        var router = RequestRouter()
        router.on(StreamsList.self) { _ in StreamsList.Reply(streams: []) }
        router.on(RecordingList.self) { _ in
            await withCheckedContinuation { continuation in hung.handlers.withLock { $0.append(continuation) } }
            return RecordingList.Reply(recordings: [])
        }
        let server = try await server(router, timeLimit: .seconds(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.run()
                hung.isServerOver.store(true, ordering: .relaxed)
            }
            let client = try RequestClient(context: context, thread: thread, endpoint: server.endpoint)
            let error = await #expect(throws: RequestError.self) {
                try await client.send(RecordingList(), timeout: .seconds(30))
            }
            #expect(error?.data?.reason == "timedOut")
            _ = try await client.send(StreamsList(), timeout: .seconds(30))
            group.cancelAll()
            // The handler counts as running until it is done.
            let isOver = hung.isServerOver.load(ordering: .relaxed)
            #expect(!isOver)
            for handler in hung.handlers.withLock({ $0 }) { handler.resume() }
            try await group.waitForAll()
        }
    }

    /// One piece of a file counts as several requests, and must not wait until no other is in progress.
    @Test func aLongRequestIsAnsweredBesideASlowOne() async throws {
        let hung = Hung()
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        var router = RequestRouter()
        router.on(RecordingList.self) { _ in
            await withCheckedContinuation { continuation in
                hung.handlers.withLock { $0.append(continuation) }
                begin.yield()
            }
            return RecordingList.Reply(recordings: [])
        }
        router.onWithBytes(RecordingAddFile.self) { request, bytes in
            RecordingAddFile.Reply(session: request.session, name: request.name, bytes: bytes.count)
        }
        let server = try await server(router, timeLimit: .seconds(50))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            let slow = try RequestClient(context: context, thread: thread, endpoint: server.endpoint)
            async let list = slow.send(RecordingList(), timeout: .seconds(50))
            for await _ in begun { break }
            let request = #"{"jsonrpc":"2.0","id":1,"method":"recording.addFile","params":{"session":"s","name":"a"}}"#
            let requester = try Requester(context: context, thread: thread, endpoint: server.endpoint)
            let reply = try await requester.request(
                [Array(request.utf8), [UInt8](repeating: 7, count: 1 << 20)], timeout: .seconds(40))
            #expect(String(decoding: reply[0], as: UTF8.self).contains("1048576"))
            for handler in hung.handlers.withLock({ $0 }) { handler.resume() }
            #expect(try await list.recordings.isEmpty)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test func aRequestThatGotLostIsRepeatedIfItMayBe() async throws {
        // The replier loses the first request, as if a connection broke.
        let replier = try Replier(context: context, thread: thread)
        let endpoint = try await replier.bind(to: "tcp://127.0.0.1:*")
        let client = try RequestClient(context: context, thread: thread, endpoint: endpoint)
        async let reply = client.send(StreamsList(), timeout: .seconds(30))
        _ = try await replier.next()
        let second = try await replier.next()
        var router = RequestRouter()
        router.on(StreamsList.self) { _ in StreamsList.Reply(streams: []) }
        try await replier.reply(to: second, with: router.answer(second.frames))
        #expect(try await reply.streams.isEmpty)
    }

    /// The reply to an earlier attempt is dropped, so an attempt must last long enough.
    @Test func aReplyThatTakesLongerThanTheRepeatIntervalIsAccepted() async throws {
        var router = RequestRouter()
        router.on(StreamsList.self) { _ in
            try await Task.sleep(for: .milliseconds(200))
            return StreamsList.Reply(streams: [])
        }
        let server = try await server(router, timeLimit: .seconds(50))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            let client = try RequestClient(
                context: context, thread: thread, endpoint: server.endpoint, names: .system,
                repeatInterval: .milliseconds(50))
            let reply = try await client.send(StreamsList(), timeout: .seconds(30))
            #expect(reply.streams.isEmpty)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// The reply takes longer than the repeat interval, and than the silence that the second case allows.
    @Test(arguments: [nil, .seconds(4)] as [Duration?])
    func aRequestIsNotRepeatedWhileItsReplyArrives(silence: Duration?) async throws {
        let replier = try SlowReplier()
        var options = SocketOptions()
        options.handshakeLimit = .seconds(30)
        let client = try RequestClient(
            context: context, thread: thread, endpoint: replier.endpoint, options: options, names: .system,
            repeatInterval: .seconds(4))
        let head = Array(#"{"jsonrpc":"2.0","id":1,"result":{"streams":[]}}"#.utf8)
        async let hasSecond = replier.answer(with: head)
        let (reply, frames) = try await client.sendForFrames(StreamsList(), timeout: .seconds(50), silence: silence)
        #expect(reply.streams.isEmpty)
        #expect(frames.map(\.count) == [SlowReplier.size])
        let isRepeated = try await hasSecond
        #expect(!isRepeated)
    }

    private func withServer(
        timeLimit: Duration = .seconds(10), _ body: (RequestClient) async throws -> Void
    ) async throws {
        var router = RequestRouter()
        router.on(StreamsList.self) { _ in StreamsList.Reply(streams: []) }
        router.on(StreamsStop.self) { _ in throw RequestError(.unknownStream, "no such stream") }
        router.on(RecordingList.self) { _ in
            try await Task.sleep(for: .seconds(3_600))
            return RecordingList.Reply(recordings: [])
        }
        let server = try await server(router, timeLimit: timeLimit)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            let client = try RequestClient(context: context, thread: thread, endpoint: server.endpoint)
            try await body(client)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    private func server(_ router: RequestRouter, timeLimit: Duration) async throws -> ReplyServer {
        try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: router, context: context, thread: thread, timeLimit: timeLimit)
    }

    private func publishUntilHeard(by subscriber: Subscriber, _ publish: () throws -> Void) async throws -> MessageBatch
    {
        while true {
            try publish()
            let batch = try await subscriber.next(deadline: MonotonicClock.now + 5_000_000)
            if !batch.isEmpty { return batch }
        }
    }
}

/// Handlers that wait for something that ignores cancellation.
private final class Hung: Sendable {
    let handlers = Mutex<[CheckedContinuation<Void, Never>]>([])
    let isServerOver = Atomic(false)
}

private struct StreamOfAnotherSchema: Event {
    static let schema = "other.v1"
    var schema: String
    var source: String
    var sequence: Int
    var topic: String { "" }
}
