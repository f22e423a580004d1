import MessageBus
import Messages
import Testing

/// The next requests, and the meaning of answers, without clocks and sockets.
@Suite(.timeLimit(.minutes(1)))
final class ReplayScheduleTests {
    private static let publisher = "tcp://127.0.0.1:5551"
    private static let second: Int64 = 1_000_000_000
    private static let limit = 10 * second

    private var schedule = ReplaySchedule(seed: 1)

    @Test func oneRequestAsksForManyStreamsOnceItsPublisherHasAnswered() throws {
        for stream in 1...1_000 { ask(stream) }
        let probe = try #require(next())
        #expect(probe.params.ranges?.map(\.device) == (1...64).map { "d\($0)" })
        #expect(next() == nil, "one request shows first whether there is an answer")
        #expect(answer(probe).count == 64)
        let requests = all()
        // The probe counts until its samples are taken.
        #expect(requests.count == ReplaySchedule.maximumReplies - 1)
        #expect(requests.map { $0.params.ranges?.count } == Array(repeating: 64, count: requests.count))
        #expect(requests.first?.params.device == "d65", "those that have waited longest come first")
        #expect(next() == nil)
        // The next request may be sent only when all streams have taken their samples.
        for stream in 1...63 { schedule.finish(stream) }
        #expect(next() == nil)
        schedule.finish(64)
        #expect(next()?.params.device == "d\(64 * ReplaySchedule.maximumReplies + 1)")
    }

    @Test func aStreamThatNeedsMoreKeepsItsPlace() throws {
        for stream in 1...200 { ask(stream) }
        _ = answer(try #require(next()))
        for stream in 1...64 { ask(stream, from: 100) }
        #expect(next()?.params.ranges?.map(\.device).prefix(2) == ["d1", "d2"])
    }

    @Test func publishersTakeTurnsAtWhatIsLeftOfTheBound() throws {
        let publishers = (0..<40).map { "tcp://p:\($0)" }
        for stream in 0..<4_000 { ask(stream, at: publishers[stream % 40]) }
        var counts: [String: Int] = [:]
        var underWay: [(publisher: String, request: ReplaySchedule.Request)] = []
        for _ in 0..<1_000 {
            for publisher in publishers {
                while let request = next(of: publisher) { underWay.append((publisher, request)) }
            }
            #expect(schedule.replyCount == underWay.count)
            #expect(underWay.count <= ReplaySchedule.maximumCost)
            guard !underWay.isEmpty else { break }
            let (publisher, request) = underWay.removeFirst()
            counts[publisher, default: 0] += 1
            for verdict in answer(request, of: publisher) { schedule.leave(verdict.stream) }
            // No stream is far ahead of the others.
            let most = counts.values.max() ?? 0
            if most > 3 { break }
        }
        #expect(counts.count == 40)
    }

    @Test func aPublisherThatIsAwayKeepsNobodyWaitingButItsOwn() throws {
        for stream in 0..<100 { ask(stream, at: "tcp://away:1") }
        #expect(next(of: "tcp://away:1") != nil)
        ask(200)
        let request = try #require(next())
        #expect(answer(request).map(\.outcome.isAnswer) == [true])
    }

    /// Two sites have slow links, and their replies take minutes.
    @Test func slowPublishersDelayOnlyTheirOwnStreams() throws {
        let slow = ["tcp://slow:0", "tcp://slow:1"]
        for (index, publisher) in slow.enumerated() {
            for stream in 0..<400 { ask(1_000 * index + stream, at: publisher) }
            let probe = try #require(next(of: publisher))
            for verdict in answer(probe, of: publisher) { schedule.leave(verdict.stream) }
            for _ in 0..<ReplaySchedule.maximumReplies { #expect(next(of: publisher) != nil) }
        }
        ask(5_000)
        #expect(next() == nil, "their replies may arrive at any moment")
        for publisher in slow {
            let step = schedule.step(
                of: publisher, at: publisher, received: 100_000, isBroken: false, now: 2 * Self.second)
            let isWaiting = if case .wait = step { true } else { false }
            #expect(isWaiting)
        }
        #expect(schedule.nextInTurn == Self.publisher)
        #expect(next(now: 2 * Self.second) != nil)
    }

    @Test func silenceIsAskedAgainAfterPausesThatGrow() throws {
        ask(1)
        var now: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<5 {
            guard case .send = step(now) else { throw Unexpected("nothing is asked at \(now)") }
            guard case .wait(let silent?) = step(now) else { throw Unexpected("nothing ends the wait") }
            #expect(silent >= now + ReplaySchedule.patience)
            #expect(step(silent - 1) == .wait(until: silent))
            #expect(step(silent) == .reconnect([1]))
            ask(1, limit: .max, now: silent)
            guard case .wait(let again?) = step(silent) else { throw Unexpected("there is no pause") }
            pauses.append(again - silent)
            now = again
        }
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 < $1 })
        #expect(pauses.allSatisfy { (75_000_000...2_500_000_000).contains($0) })
    }

    @Test func bytesThatComeAreNoSilence() throws {
        ask(1, limit: .max)
        _ = try #require(next())
        for tick in 1...100 {
            let now = Int64(tick) * ReplaySchedule.patience * 9 / 10
            let isWaiting = if case .wait = step(now, received: tick * 1_000) { true } else { false }
            #expect(isWaiting)
        }
        #expect(step(200 * Self.second, received: 100_000) == .reconnect([1]))
    }

    /// Over a slow link, a reply takes longer than the limit.
    @Test func aReplyThatArrivesSlowlyIsAwaited() throws {
        ask(1)
        let request = try #require(next())
        for tick in 1...30 {
            let now = Int64(tick) * Self.second
            let isWaiting = if case .wait = step(now, received: tick * 100_000) { true } else { false }
            #expect(isWaiting, "at \(tick) s")
            #expect(schedule.arriving(of: Self.publisher, now: now) == (tick < 2 ? [] : [1]))
        }
        let verdicts = take(.reply(Self.reply(to: request), frameCount: 1), to: request, now: 30 * Self.second)
        #expect(verdicts.map(\.outcome.isAnswer) == [true])
    }

    /// The bytes may be heartbeats, or those of a reply that never ends.
    @Test(arguments: [(20, 10), (100_000, 310)])
    func bytesDelayTheLimitOnlyIfTheyMayBecomeAReply(bytes: Int, limit: Int) throws {
        ask(1)
        _ = try #require(next())
        for tick in 1..<limit {
            let now = Int64(tick) * Self.second
            let isWaiting = if case .wait = step(now, received: tick * bytes) { true } else { false }
            #expect(isWaiting, "at \(tick) s")
        }
        let end = Int64(limit) * Self.second
        #expect(step(end, received: limit * bytes) == .askAgain([1]))
        let reason = schedule.ask(
            1, for: Self.request(1), at: Self.publisher, heardSince: .min, limit: Self.limit, now: end)
        #expect(reason == .publisherUnreachable)
    }

    @Test func aReplyIsTakenByTheStreamsThatStillWantIt() throws {
        for stream in 1...3 { ask(stream) }
        let request = try #require(next())
        schedule.leave(2)
        let verdicts = answer(request)
        #expect(verdicts.map(\.stream) == [1, 3])
        guard case .answer(_, let frames)? = verdicts.last?.outcome else { throw Unexpected("it is not taken") }
        #expect(frames == 2..<3)
    }

    @Test func anEndedConnectionNeedsNoPatience() throws {
        ask(1)
        _ = try #require(next())
        #expect(
            schedule.step(of: Self.publisher, at: Self.publisher, received: 0, isBroken: true, now: 1)
                == .reconnect([1]))
    }

    /// Each answer arrives before the publisher counts as silent; all together take much longer than the limit.
    @Test func aSlowPublisherIsNotGivenUpWhileItAnswersOthers() throws {
        let count = 2_000
        for stream in 1...count { ask(stream) }
        var requests: [ReplaySchedule.Request] = []
        var now: Int64 = 0
        var answered = 0
        while answered < count {
            switch step(now, received: answered) {
            case .send(let request): requests.append(request)
            case .wait:
                let request = try #require(requests.first, "nothing is under way")
                requests.removeFirst()
                now += ReplaySchedule.patience * 9 / 10
                let frames = request.params.ranges?.count ?? 1
                let verdicts = take(.reply(Self.reply(to: request), frameCount: frames), to: request, now: now)
                #expect(verdicts.count == frames && verdicts.allSatisfy(\.outcome.isAnswer))
                answered += verdicts.count
                for verdict in verdicts { schedule.finish(verdict.stream) }
            case let step: throw Unexpected("\(step)")
            }
        }
        #expect(now > 2 * Self.limit)
    }

    /// Lets a stream ask again and again, without any answer, until its samples are given up.
    /// - Parameter since: since when its publisher is heard at an instant.
    /// - Returns: when they are given up.
    private func giveUp(heardSince since: (Int64) -> Int64?) throws -> Int64 {
        ask(1)
        #expect(next() != nil)
        var now: Int64 = 0
        var reason: Gap.Reason?
        while reason == nil, now < 90 * Self.second {
            switch step(now) {
            case .reconnect, .askAgain:
                reason = schedule.ask(
                    1, for: Self.request(1), at: Self.publisher, heardSince: since(now), limit: Self.limit, now: now)
            case .wait(let until): now = try #require(until)
            case .send: break
            }
        }
        #expect(reason == .publisherUnreachable)
        return now
    }

    /// The network may be back just before a stream asks again.
    @Test(arguments: [20, 25, 30, 35, 40, 45] as [Int64])
    func aPublisherThatWasOutOfReachHasTheWholeLimitAfterThat(heard: Int64) throws {
        let heard = heard * Self.second
        #expect(try giveUp { $0 >= heard ? heard : nil } >= heard + Self.limit)
    }

    /// Whenever the stream asks, the network has been back for a second.
    @Test func timeThatIsInterruptedIsNotSilence() throws {
        let steady = 60 * Self.second
        #expect(try giveUp { $0 >= steady ? steady : $0 - Self.second } >= steady + Self.limit)
    }

    @Test func aPublisherThatGivesNoAnswerForTheWholeLimitIsUnreachable() throws {
        let now = try giveUp { _ in 0 }
        #expect(now == Self.limit)
        // The next missing samples have a time limit of their own.
        #expect(
            schedule.ask(
                1, for: Self.request(1, from: 50), at: Self.publisher, heardSince: .min, limit: Self.limit, now: now)
                == nil)
    }

    /// Its earlier samples may no longer be wanted, for example those after a session's end.
    @Test func aStreamThatAsksForOtherSamplesBeginsToWait() throws {
        ask(1)
        #expect(next() != nil)
        guard case .wait(let silent?) = step(0) else { throw Unexpected("nothing ends the wait") }
        #expect(step(silent) == .reconnect([1]))
        ask(1, from: 50, now: Self.limit)
        let reason = schedule.ask(
            1, for: Self.request(1, from: 50), at: Self.publisher, heardSince: .min, limit: Self.limit,
            now: 2 * Self.limit)
        #expect(reason == .publisherUnreachable)
    }

    @Test func oneThatIsNotHeardOfMayBeCutOff() throws {
        ask(1)
        #expect(next() != nil)
        var now: Int64 = 0
        while now < 599 * Self.second {
            switch step(now) {
            case .reconnect, .askAgain:
                #expect(
                    schedule.ask(
                        1, for: Self.request(1), at: Self.publisher, heardSince: nil, limit: Self.limit, now: now)
                        == nil)
            case .wait(let until): now = try #require(until)
            case .send: break
            }
        }
        let reason = schedule.ask(
            1, for: Self.request(1), at: Self.publisher, heardSince: nil, limit: Self.limit, now: 601 * Self.second)
        #expect(reason == .publisherUnreachable)
    }

    @Test(arguments: [
        RequestError(.busy, "", retryAfter: 2), RequestError(.stopping, ""), RequestError(.notAllowed, ""),
        RequestError(.timedOut, ""), .internalError(""), .unknownMethod(""),
    ])
    func aRefusalThatSaysNothingOfTheSamplesIsAskedAgainForAsLongAsItTakes(refusal: RequestError) throws {
        var schedule = ReplaySchedule(seed: 2)
        var now: Int64 = 0
        var count = 0
        while now < 3_600 * Self.second {
            let reason = schedule.ask(
                1, for: Self.request(1), at: Self.publisher, heardSince: .min, limit: Self.limit, now: now)
            try #require(reason == nil)
            var step = schedule.step(of: Self.publisher, at: Self.publisher, received: 0, isBroken: false, now: now)
            if case .wait(let until?) = step {
                now = until
                step = schedule.step(of: Self.publisher, at: Self.publisher, received: 0, isBroken: false, now: now)
            }
            guard case .send(let request) = step else { throw Unexpected("nothing is asked at \(now): \(step)") }
            count += 1
            let verdicts = schedule.take(
                .refusal(refusal), to: request.number, of: Self.publisher, at: Self.publisher,
                places: [Self.publisher], now: now)
            // Only the refusal `busy` means that the publisher can't send the samples yet.
            let isBusy = refusal.code == RequestError.Reason.busy.code
            #expect(verdicts.map(\.outcome) == [isBusy ? .later : .again])
        }
        // Every two seconds.
        #expect((1_300...2_500).contains(count))
    }

    /// For example, while the program has no sockets left.
    @Test func oneThatIsNotAskedIsNotSilent() throws {
        ask(1)
        var now: Int64 = 0
        while now < 10 * Self.limit {
            #expect(next(now: now) != nil)
            #expect(schedule.fail(Self.publisher, at: nil, now: now) == [1])
            ask(1, now: now)
            guard case .wait(let until?) = step(now) else { throw Unexpected("there is no pause") }
            now = until
        }
    }

    @Test func anOverloadedPublisherIsLeftAloneForAsLongAsItSays() throws {
        ask(1)
        let request = try #require(next())
        _ = schedule.take(
            .refusal(RequestError(.busy, "", retryAfter: 3)), to: request.number, of: Self.publisher,
            at: Self.publisher, places: [Self.publisher], now: 0)
        ask(1)
        guard case .wait(let until?) = step(0) else { throw Unexpected("it is not left alone") }
        #expect((3 * Self.second...4 * Self.second).contains(until))
    }

    @Test func whatIsGoneOfOneStreamIsNotGoneOfOthers() throws {
        for stream in 1...3 { ask(stream) }
        let request = try #require(next())
        var reply = Self.reply(to: request)
        reply.ranges?[1] = .init(RequestError(.unknownEpoch, "anew"), from: 0)
        let verdicts = take(.reply(reply, frameCount: 2), to: request)
        #expect(verdicts.map(\.outcome.isAnswer) == [true, false, true])
        #expect(verdicts[1].outcome == .gone(.epochEnded))
    }

    @Test func oneThatMayAnswerElsewhereTooIsAskedThereBeforeItIsBelieved() throws {
        let places: Set = [Self.publisher, "tcp://other:5551"]
        ask(1)
        var request = try #require(next())
        let gone = ReplaySchedule.Answer.refusal(RequestError(.unknownStream, ""))
        var verdicts = schedule.take(
            gone, to: request.number, of: Self.publisher, at: Self.publisher, places: places, now: 0)
        #expect(verdicts.map(\.outcome) == [.again])
        ask(1, now: Self.second)
        request = try #require(next(now: Self.second))
        verdicts = schedule.take(
            gone, to: request.number, of: Self.publisher, at: "tcp://other:5551", places: places, now: 0)
        #expect(verdicts.map(\.outcome) == [.gone(.notRetained)])
    }

    @Test func aPublisherThatKnowsNoRangesIsAskedForOneStreamAtATime() throws {
        for stream in 1...10 { ask(stream) }
        let probe = try #require(next())
        let verdicts = take(
            .reply(.init(from: 0, count: 100, first: 0, last: 99), frameCount: 1), to: probe)
        #expect(verdicts.map(\.outcome.isAnswer) == [true] + Array(repeating: false, count: 9))
        for stream in 1...10 { ask(stream, from: stream == 1 ? 100 : 0) }
        let requests = all()
        #expect(requests.count == ReplaySchedule.maximumReplies)
        #expect(requests.allSatisfy { $0.params.ranges == nil })
        #expect(requests.map(\.params.device) == (1...ReplaySchedule.maximumReplies).map { "d\($0)" })
    }

    @Test func oneThatKnowsNoRangesRefusesTheFirstAlone() throws {
        for stream in 1...3 { ask(stream) }
        let request = try #require(next())
        let verdicts = take(.refusal(RequestError(.unknownStream, "")), to: request)
        #expect(verdicts.map(\.outcome) == [.gone(.notRetained), .again, .again])
    }

    @Test func aReplyThatIsLostWhileOthersComeIsAskedForAgain() throws {
        ask(0)
        _ = answer(try #require(next()))
        for stream in 1...64 { ask(stream) }
        let lost = try #require(next())
        var again: [Int] = []
        for number in 0..<20 where again.isEmpty {
            ask(100 + number)
            let later = try #require(next())
            let verdicts = answer(later)
            again = verdicts.filter { $0.outcome == .again }.map(\.stream)
            for verdict in verdicts where verdict.outcome.isAnswer { schedule.leave(verdict.stream) }
        }
        #expect(again.sorted() == Array(1...64))
        #expect(answer(lost).isEmpty, "it comes too late")
    }

    @Test func whatCanNotBeReadIsAskedForSinglyAndGivenUpAfterAWhile() throws {
        for stream in 1...2 { ask(stream) }
        #expect(take(.unreadable, to: try #require(next())).map(\.outcome) == [.again, .again])
        var now: Int64 = 0
        for count in 1...ReplaySchedule.maximumUnreadable {
            ask(1, limit: .max, now: now)
            if count == 1 { ask(2, limit: .max, now: now) }
            guard case .wait(let until?) = step(now) else { throw Unexpected("there is no pause") }
            now = until
            let request = try #require(next(now: now))
            #expect(request.params.ranges == nil)
            let verdicts = take(.unreadable, to: request, now: now)
            #expect(
                verdicts.map(\.outcome) == [count < ReplaySchedule.maximumUnreadable ? .again : .gone(.malformed)])
        }
    }

    @Test(arguments: [[1, 1], [1, 1, 1, 1], [1, 5, -3], [.max, .max, 5], [-1, 1, 3]])
    func aReplyWhoseFramesMakeNoSenseIsNotTaken(frames: [Int]) throws {
        var schedule = ReplaySchedule(seed: 3)
        for stream in 1...3 {
            _ = schedule.ask(
                stream, for: Self.request(stream), at: Self.publisher, heardSince: .min, limit: Self.limit, now: 0)
        }
        guard
            case .send(let request) = schedule.step(
                of: Self.publisher, at: Self.publisher, received: 0, isBroken: false, now: 0)
        else { throw Unexpected("nothing is asked") }
        let part = SamplesReplay.Reply(from: 0, count: 1, first: 0, last: 9)
        let reply = SamplesReplay.Reply(frames.map { .init(part, frames: $0) })
        let verdicts = schedule.take(
            .reply(reply, frameCount: 3), to: request.number, of: Self.publisher, at: Self.publisher,
            places: [Self.publisher], now: 0)
        #expect(verdicts.map(\.outcome) == [.again, .again, .again])
    }

    @Test func thousandsThatAskTogetherWakeTheirPublisherOnce() throws {
        var wakes = 0
        for stream in 1...1_000 {
            ask(stream)
            if schedule.wakes(Self.publisher) { wakes += 1 }
        }
        #expect(wakes == 1)
        let probe = try #require(next())
        // There is no room for more requests before the answer, so there is nothing to decide either.
        ask(1_001)
        let isWoken = schedule.wakes(Self.publisher)
        #expect(!isWoken)
        #expect(schedule.nextInTurn == nil)
        _ = answer(probe)
        #expect(schedule.nextInTurn == Self.publisher)
    }

    /// For any order of events, the limits hold, and in the end everything is answered. As in the client, steps are decided only
    /// for a reason: an answer, a request, a turn, or a timeout.
    @Test(arguments: 0..<50) func whateverHappensNothingIsForgotten(seed: UInt64) throws {
        var random = Xorshift(state: seed + 1)
        var schedule = ReplaySchedule(seed: seed)
        let publishers = (0..<5).map { "tcp://p:\($0)" }
        var missing = Dictionary(uniqueKeysWithValues: (0..<300).map { ($0, Int.random(in: 1...5, using: &random)) })
        var underWay: [(publisher: String, request: ReplaySchedule.Request)] = []
        var now: Int64 = 0
        var connected: Set<String> = []
        var woken: Set<String> = []
        var waits: [String: Int64] = [:]
        func wakeNext() {
            connected.formIntersection(publishers.filter { schedule.isWanted($0) })
            if let next = schedule.nextInTurn { woken.insert(next) }
        }
        func ask(_ stream: Int) {
            let publisher = publishers[stream % 5]
            let reason = schedule.ask(
                stream, for: Self.request(stream), at: publisher, heardSince: .min, limit: .max, now: now)
            #expect(reason == nil)
            if connected.insert(publisher).inserted || schedule.wakes(publisher) { woken.insert(publisher) }
            wakeNext()
        }
        func settle(_ verdicts: [ReplaySchedule.Verdict]) {
            for verdict in verdicts {
                if verdict.outcome.isAnswer { missing[verdict.stream]? -= 1 }
                schedule.finish(verdict.stream)
                wakeNext()
                if missing[verdict.stream] == 0 {
                    missing[verdict.stream] = nil
                    schedule.leave(verdict.stream)
                    wakeNext()
                } else {
                    ask(verdict.stream)
                }
            }
        }
        for stream in missing.keys.sorted() { ask(stream) }
        for turn in 0..<200_000 where !missing.isEmpty {
            let isQuiet = turn > 20_000
            for publisher in publishers where connected.contains(publisher) {
                guard woken.remove(publisher) != nil || waits[publisher] ?? .max <= now else { continue }
                waits[publisher] = nil
                var isWaiting = false
                while !isWaiting, connected.contains(publisher) {
                    switch schedule.step(of: publisher, at: publisher, received: 0, isBroken: false, now: now) {
                    case .send(let request): underWay.append((publisher, request))
                    case .reconnect(let streams), .askAgain(let streams):
                        for stream in streams { ask(stream) }
                    case .wait(let until):
                        waits[publisher] = until
                        isWaiting = true
                    }
                    wakeNext()
                }
                #expect(underWay.count(where: { $0.publisher == publisher }) < 100)
            }
            #expect(schedule.replyCount <= 5 * ReplaySchedule.maximumReplies)
            now += Int64.random(in: 0...50_000_000, using: &random)
            guard !underWay.isEmpty, Bool.random(using: &random) else { continue }
            let (publisher, request) = underWay.remove(at: Int.random(in: 0..<underWay.count, using: &random))
            let answer: ReplaySchedule.Answer
            switch isQuiet ? 9 : Int.random(in: 0..<20, using: &random) {
            case 0: continue
            case 1: answer = .refusal(RequestError(.busy, "", retryAfter: 0.2))
            case 2: answer = .refusal(.internalError(""))
            default: answer = .reply(Self.reply(to: request), frameCount: request.params.ranges?.count ?? 1)
            }
            woken.insert(publisher)
            settle(
                schedule.take(
                    answer, to: request.number, of: publisher, at: publisher, places: [publisher], now: now))
        }
        #expect(missing.isEmpty, "seed \(seed)")
        #expect(schedule.replyCount == 0)
        #expect(!publishers.contains { schedule.isWanted($0) })
    }

    // MARK: Helpers

    private static func request(_ stream: Int, from: Int = 0) -> SamplesReplay {
        SamplesReplay(device: "d\(stream)", stream: "a", epoch: "e", from: from, count: 1_000)
    }

    private func ask(
        _ stream: Int, from: Int = 0, at publisher: String = publisher, limit: Int64 = limit, now: Int64 = 0
    ) {
        let reason = schedule.ask(
            stream, for: Self.request(stream, from: from), at: publisher, heardSince: .min, limit: limit, now: now)
        #expect(reason == nil)
    }

    private func step(_ now: Int64, received: Int = 0) -> ReplaySchedule.Step {
        schedule.step(of: Self.publisher, at: Self.publisher, received: received, isBroken: false, now: now)
    }

    private func next(of publisher: String = publisher, now: Int64 = 0) -> ReplaySchedule.Request? {
        let step = schedule.step(of: publisher, at: publisher, received: 0, isBroken: false, now: now)
        return if case .send(let request) = step { request } else { nil }
    }

    private func all() -> [ReplaySchedule.Request] {
        var requests: [ReplaySchedule.Request] = []
        while let request = next() { requests.append(request) }
        return requests
    }

    private func answer(
        _ request: ReplaySchedule.Request, of publisher: String = publisher
    ) -> [ReplaySchedule.Verdict] {
        schedule.take(
            .reply(Self.reply(to: request), frameCount: request.params.ranges?.count ?? 1), to: request.number,
            of: publisher, at: publisher, places: [publisher], now: 0)
    }

    private func take(
        _ answer: ReplaySchedule.Answer, to request: ReplaySchedule.Request, now: Int64 = 0
    ) -> [ReplaySchedule.Verdict] {
        schedule.take(
            answer, to: request.number, of: Self.publisher, at: Self.publisher, places: [Self.publisher], now: now)
    }

    /// A hundred samples of each stream, one frame per stream.
    private static func reply(to request: ReplaySchedule.Request) -> SamplesReplay.Reply {
        guard let ranges = request.params.ranges else {
            return .init(from: request.params.from, count: 100, first: 0, last: 999)
        }
        return .init(ranges.map { .init(.init(from: $0.from, count: 100, first: 0, last: 999), frames: 1) })
    }
}

extension ReplaySchedule.Outcome {
    fileprivate var isAnswer: Bool { if case .answer = self { true } else { false } }
}

private struct Unexpected: Error {
    let what: String

    init(_ what: String) { self.what = what }
}
