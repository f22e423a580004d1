import Glibc
import MessageBus
import Messages
import Synchronization
import Testing
import ZeroMQ

/// Missing samples over real sockets: one connection per publisher, and no samples given up that are still available.
@Suite(
    .timeLimit(.minutes(1)),
    .enabled(if: getenv("HOLDFAST_SANITIZED") == nil, "the sanitizer takes longer than a publisher is waited for"))
struct ReplayClientTests {
    private let context: Context
    private let thread: SocketThread
    private let publishers: Publishers

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
        publishers = Publishers(context: context, thread: thread) { _ in SocketOptions() }
    }

    @Test func aThousandStreamsAreRecoveredOverOneConnection() async throws {
        // Half a minute of each stream at 100 Hz; a reply has as many samples as fit into four megabytes.
        let publisher = try await publisher(replySize: 66_000)
        let streams = (0..<1_000).map { LostSamples($0, 3_000, at: publisher.endpoint) }
        try await recover(streams, of: publisher, from: patient)
        for stream in streams {
            #expect(await stream.lost.isEmpty)
            #expect(await stream.taken == 3_000)
        }
        #expect(publisher.connections == 1)
        #expect(publisher.asked < 100)
    }

    @Test func severalRequestsAreUnderWayAndNotTooMany() async throws {
        let publisher = try await publisher()
        let gate = Gate()
        let most = ReplaySchedule.maximumReplies
        publisher.set { state in
            state.onRequest = { count, _ in
                if (2...most + 1).contains(count) { await gate.pass(openingAt: most) }
            }
        }
        let streams = (0..<1_000).map { LostSamples($0, 10, at: publisher.endpoint) }
        try await recover(streams, of: publisher, from: patient)
        #expect(publisher.mostUnderWay == ReplaySchedule.maximumReplies)
        for stream in streams { #expect(await stream.taken == 10) }
    }

    @Test func aRefusalIsAskedAgainUntilThereAreSamples() async throws {
        let publisher = try await publisher()
        publisher.set { state in
            state.onRequest = { count, _ in
                switch count {
                case 1: throw RequestError(.busy, "too much to do", retryAfter: 3.5)
                case 2: throw RequestError(.stopping, "stopping")
                case 3: throw RequestError.internalError("a mistake")
                default: break
                }
            }
        }
        let streams = (0..<10).map { LostSamples($0, at: publisher.endpoint) }
        let start = ContinuousClock.now
        try await recover(streams, of: publisher, from: patient)
        for stream in streams { #expect(await stream.taken == 100) }
        #expect(ContinuousClock.now - start >= .milliseconds(3_500))
        #expect(publisher.asked == 4)
    }

    @Test func whatIsGoneIsGoneAndNothingElse() async throws {
        let publisher = try await publisher(kept: 40..<100)
        publisher.set { state in
            state.onRange = { (range) throws(RequestError) in
                if range.device == "d3" { throw RequestError(.unknownEpoch, "anew") }
                if range.device == "d7" { throw RequestError(.unknownStream, "there is none") }
            }
        }
        let streams = (0..<10).map { LostSamples($0, at: publisher.endpoint) }
        try await recover(streams, of: publisher)
        for (number, stream) in streams.enumerated() {
            let lost = await stream.lost
            switch number {
            case 3: #expect(lost == [.init(samples: 0..<100, reason: .epochEnded)])
            case 7: #expect(lost == [.init(samples: 0..<100, reason: .notRetained)])
            default: #expect(lost == [.init(samples: 0..<40, reason: .notRetained)])
            }
        }
    }

    @Test func aPublisherWithoutRangesIsAskedForOneStreamAfterTheOther() async throws {
        let publisher = try await publisher(replySize: 60, knowsRanges: false)
        let streams = (0..<50).map { LostSamples($0, at: publisher.endpoint) }
        try await recover(streams, of: publisher, from: patient)
        for stream in streams {
            #expect(await stream.lost.isEmpty)
            #expect(await stream.taken == 100)
        }
        #expect(publisher.connections == 1)
    }

    @Test func oneThatGivesNoAnswerIsGivenUpAfterTheLimit() async throws {
        let publisher = try await publisher()
        let streams = (0..<100).map { LostSamples($0, at: publisher.endpoint) }
        let start = ContinuousClock.now
        // Nothing serves the requests that arrive there.
        try await recover(streams, limit: .milliseconds(700))
        #expect(ContinuousClock.now - start >= .milliseconds(700))
        for stream in streams {
            #expect(await stream.lost == [.init(samples: 0..<100, reason: .publisherUnreachable)])
        }
    }

    /// A connection takes three sockets. Another one leaves room for none, one or two of them.
    @Test(arguments: 3...5)
    func aProgramThatHasNoSocketsLeftGivesNothingUp(maximumSockets: Int) async throws {
        let publisher = try await publisher()
        let full = try Context(maximumSockets: maximumSockets)
        let other = Dealer(context: full, thread: thread)
        try await other.connect(to: publisher.endpoint, options: SocketOptions())
        let publishers = Publishers(context: full, thread: thread) { _ in SocketOptions() }
        let tries = Tries()
        let stream = LostSamples(at: publisher.endpoint) {
            // By then, the pauses between the tries were longer than the limit.
            if tries.count.add(1, ordering: .relaxed).newValue == 4 { throw Enough() }
        }
        await #expect(throws: Enough.self) { try await publishers.recover(stream, limit: .milliseconds(50)) }
        #expect(await stream.lost.isEmpty)
        await other.disconnect()
        try await recover([stream], of: publisher, from: publishers)
        #expect(await stream.taken == 100)
    }

    @Test func oneThatIsNotHeardOfEitherIsAskedOn() async throws {
        let publisher = try await publisher()
        let stream = LostSamples(at: publisher.endpoint, isHeard: false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publishers.recover(stream, limit: .milliseconds(100)) }
            // The publisher answers long after the limit.
            try await Task.sleep(for: .milliseconds(600))
            group.addTask { try await publisher.run() }
            try await group.next()
            group.cancelAll()
        }
        #expect(await stream.taken == 100)
    }

    @Test func repliesThatAreLostAreAskedForAgain() async throws {
        // A plain replier takes the requests, and answers two of three.
        let replier = try Replier(context: context, thread: thread)
        let endpoint = try await replier.bind(to: "tcp://127.0.0.1:*")
        let streams = (0..<200).map { LostSamples($0, 10, at: endpoint) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var count = 0
                while true {
                    let request = try await replier.next()
                    count += 1
                    if count % 3 == 0 { continue }
                    let asked = try WireCoding.decode(RequestEnvelope<SamplesReplay>.self, from: request.frames[0])
                    let (answer, frames) = try KeepingPublisher.answer(
                        asked.params, kept: 0..<10, replySize: 10_000, knowsRanges: true)
                    let reply = try WireCoding.encode(ReplyEnvelope(id: asked.id, result: answer))
                    try await replier.reply(to: request, with: [reply] + frames)
                }
            }
            group.addTask { try await recover(streams) }
            try await group.next()
            group.cancelAll()
        }
        for stream in streams { #expect(await stream.taken == 10) }
    }

    @Test func aPublisherThatIsStartedAgainIsAskedAgain() async throws {
        let endpoint = try await publisher().endpoint
        let streams = (0..<100).map { LostSamples($0, 1_000, at: endpoint) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await recover(streams) }
            try await serve(at: endpoint) { publisher in
                publisher.set {
                    $0.onRequest = { count, _ in if count > 1 { try await Task.sleep(for: .seconds(60)) } }
                }
                while publisher.asked < 3 { try await Task.sleep(for: .milliseconds(1)) }
            }
            try await serve(at: endpoint) { _ in
                for stream in streams {
                    while await stream.taken < 1_000 { try await Task.sleep(for: .milliseconds(1)) }
                }
            }
        }
    }

    @Test(arguments: ["garbage", "another stream", "frames missing", "frames left", "more than asked", "no result"])
    func hostileAnswersEndInAGapAndHurtNobodyElse(attack: String) async throws {
        let publisher = try await publisher()
        publisher.set { state in
            state.onReply = { reply, frames in
                switch attack {
                case "another stream": frames = frames.map { _ in Array("d77:0:10:".utf8) }
                case "frames missing": frames = frames.dropLast(1)
                case "frames left": frames.append([])
                case "more than asked": frames += (0..<1_000).map { Array("d0:\($0):10:".utf8) }
                case "garbage": reply.ranges = []
                default: reply = .init(from: .min, count: .max, first: .min, last: .max)
                }
            }
        }
        let honest = try await self.publisher()
        let hostile = (0..<2).map { LostSamples($0, at: publisher.endpoint) }
        let streams = (10..<20).map { LostSamples($0, at: honest.endpoint) }
        try await serve(publisher) {
            try await serve(honest) { try await recover(hostile + streams, limit: .milliseconds(1_500)) }
        }
        for stream in streams { #expect(await stream.taken == 100) }
        for stream in hostile {
            let lost = await stream.lost.reduce(0) { $0 + $1.samples.count }
            #expect(await stream.taken + lost == 100)
        }
    }

    @Test func nothingIsAskedWhileTheProgramIsBehind() async throws {
        let publisher = try await publisher()
        let gate = Gate()
        let stream = LostSamples(at: publisher.endpoint) { await gate.pass() }
        try await serve(publisher) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await publishers.recover(stream, limit: .seconds(20)) }
                let other = LostSamples(1, at: publisher.endpoint)
                try await publishers.recover(other, limit: .seconds(20))
                #expect(publisher.asked == 1)
                #expect(await stream.taken == 0)
                gate.open()
                try await group.next()
            }
        }
        #expect(await stream.taken == 100)
    }

    @Test func whoeverIsCancelledWaitsNoLonger() async throws {
        let publisher = try await publisher()
        let streams = (0..<100).map { LostSamples($0, at: publisher.endpoint) }
        await withThrowingTaskGroup(of: Void.self) { group in
            for stream in streams { group.addTask { try await publishers.recover(stream, limit: .seconds(60)) } }
            group.cancelAll()
            while let result = await group.nextResult() {
                #expect(throws: CancellationError.self) { try result.get() }
            }
        }
        // Other requests are not blocked.
        let later = LostSamples(200, at: publisher.endpoint)
        try await recover([later], of: publisher)
        #expect(await later.taken == 100)
    }

    // MARK: Helpers

    private final class Tries: Sendable {
        let count = Atomic(0)
    }

    private struct Enough: Error {}

    /// Does not reconnect if a busy machine delays an answer by seconds.
    private var patient: Publishers {
        Publishers(context: context, thread: thread, patience: 3_600_000_000_000) { _ in SocketOptions() }
    }

    private func publisher(
        kept: Range<Int> = 0..<100_000, replySize: Int = 10_000, knowsRanges: Bool = true
    ) async throws -> KeepingPublisher {
        try await KeepingPublisher(
            context: context, thread: thread, kept: kept, replySize: replySize, knowsRanges: knowsRanges)
    }

    private func recover(
        _ streams: [LostSamples], of publisher: KeepingPublisher, from publishers: Publishers? = nil,
        limit: Duration = .seconds(20)
    ) async throws {
        try await serve(publisher) { try await recover(streams, from: publishers, limit: limit) }
    }

    private func recover(
        _ streams: [LostSamples], from publishers: Publishers? = nil, limit: Duration = .seconds(20)
    ) async throws {
        let publishers = publishers ?? self.publishers
        try await withThrowingTaskGroup(of: Void.self) { group in
            for stream in streams { group.addTask { try await publishers.recover(stream, limit: limit) } }
            try await group.waitForAll()
        }
    }

    /// Serves at an endpoint that another publisher may just be leaving.
    private func serve(
        at endpoint: String, _ body: @escaping @Sendable (KeepingPublisher) async throws -> Void
    ) async throws {
        var publisher: KeepingPublisher?
        while publisher == nil {
            publisher = try? await KeepingPublisher(on: endpoint, context: context, thread: thread)
            if publisher == nil { try await Task.sleep(for: .milliseconds(10)) }
        }
        guard let publisher else { return }
        try await serve(publisher) { try await body(publisher) }
    }

    private func serve(_ publisher: KeepingPublisher, _ body: @escaping @Sendable () async throws -> Void) async throws
    {
        try await publisher.whileRunning(body)
    }
}
