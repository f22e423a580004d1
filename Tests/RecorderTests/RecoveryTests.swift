import Messages
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Samples that were lost in transit: replayed, or recorded as a gap.
@Suite(.timeLimit(.minutes(1)))
struct RecoveryTests {
    @Test(arguments: [false, true])
    func aLostBatchIsRecovered(isPacked: Bool) async throws {
        try await record(isPacked: isPacked) { recorder, publisher in
            let before = try #require(try await recorder.log(of: publisher))
            try publisher.sample(3)
            try publisher.sample(200, isLost: true)
            try publisher.sample(4)
            try publisher.sample(5)
            try await recorder.hasAll(of: publisher)
            let after = try #require(try await recorder.log(of: publisher))
            #expect(after.recovered - before.recovered == 200)
            let report = try await recorder.stop().report
            #expect(report.isWhole)
            #expect(report.streams.first?.recovered == after.recovered)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    @Test func lossAtTheEndIsNoticedByTheDescription() async throws {
        try await record { recorder, publisher in
            try publisher.sample(7, isLost: true)
            try publisher.describe()
            try await recorder.hasAll(of: publisher)
            #expect(try await recorder.stop().report.isWhole)
        }
    }

    @Test func lossAtTheVeryStartIsNoticed() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try publisher.sample(10)
            try await recorder.start("s", publisher)
            try publisher.sample(3, isLost: true)
            try await recorder.describing([publisher]) { try await recorder.has(3, of: publisher) }
            #expect(try await recorder.stop().report.isWhole)
            #expect(try await recorder.records().sequences == [10, 11, 12])
        }
    }

    @Test func lossJustBeforeTheStopIsNoticed() async throws {
        try await record { recorder, publisher in
            try publisher.sample(7, isLost: true)
            #expect(try await recorder.stop().report.isWhole)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    @Test func lossBeforeTheStopIsNoticedBehindARecovery() async throws {
        try await record(recoveryLimit: "10s") { recorder, publisher in
            let gate = publisher.gateReplays()
            try await loseTwo(of: publisher)
            try publisher.sample(3, isLost: true)
            async let result = recorder.stop()
            try await recorder.events.recording(.status) { $0.status == "waitingToStop" }
            gate.open()
            #expect(try await result.report.isWhole)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    @Test func whatIsNotKeptIsAGapThatEverybodyIsToldOf() async throws {
        try await record { recorder, publisher in
            let first = publisher.next
            publisher.set { $0.retention = 10 }
            try publisher.sample(25, isLost: true)
            try publisher.sample(4)
            let gap = Gap(epoch: publisher.epoch, from: first, count: 19, reason: .notRetained)
            let event = try await recorder.events.recording(.gap)
            #expect(event.gap?.plain == gap)
            #expect(event.stream == publisher.name)
            try await recorder.has(publisher.next - 19, of: publisher)
            #expect(try await recorder.log(of: publisher)?.gaps == 1)
            let report = try await recorder.stop().report
            #expect(!report.isWhole)
            #expect(report.streams.first?.gaps.map(\.plain) == [gap])
            #expect(report.streams.first?.gaps.first == event.gap)
            #expect(event.gap?.date != nil && event.gap?.afterUptime != nil)
            #expect(report.streams.first?.lost == 19)
            #expect(report.streams.first?.expected == publisher.next)
            let records = try await recorder.records()
            #expect(records.sequences == Array(0..<first) + Array(first + 19..<publisher.next))
            let marker = try #require(records.first { $0.marker == "gap" })
            #expect(marker.epoch == gap.epoch && marker.from == first && marker.count == 19)
            #expect(marker.reason == "notRetained")
            // The marker is where the samples would be.
            let index = try #require(records.firstIndex(of: marker))
            #expect(records[..<index].sequences.last == first - 1)
            #expect(recorder.outcome() == .doneWithLoss)
            #expect(try await recorder.status().logs.first?.gaps == 1)
        }
    }

    @Test func nothingKeptIsOneGap() async throws {
        try await record { recorder, publisher in
            let first = publisher.next
            publisher.set { $0.retention = 0 }
            // The batches are still published: they are made before the publisher forgets them.
            try publisher.sample(5, isLost: true)
            publisher.set { $0.retention = .max }
            publisher.set { $0.firstKept = $0.next }
            try publisher.sample(2)
            try await recorder.has(publisher.next - 5, of: publisher)
            let stream = try #require(try await recorder.stop().report.streams.first)
            let gap = Gap(epoch: publisher.epoch, from: first, count: 5, reason: .notRetained)
            #expect(stream.gaps.map(\.plain) == [gap])
        }
    }

    @Test func aPublisherThatDoesNotAnswerIsGivenUpAfterTheLimit() async throws {
        // Long enough for a busy machine: later requests must be answered within this limit.
        try await record(recoveryLimit: "4s") { recorder, publisher in
            let first = publisher.next
            let gate = publisher.gateReplays(error: CancellationError())
            let start = ContinuousClock.now
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            // The recorder keeps asking a publisher that it does not hear, so the publisher describes its stream.
            let event = try await recorder.describing([publisher]) { try await recorder.events.recording(.gap) }
            let gap = Gap(epoch: publisher.epoch, from: first, count: 2, reason: .publisherUnreachable)
            #expect(event.gap?.plain == gap)
            #expect(ContinuousClock.now - start >= .seconds(4))
            try await recorder.has(publisher.next - 2, of: publisher)
            gate.open()
            publisher.onReplay(nil)
            // The next missing samples are requested independently.
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            try await recorder.has(publisher.next - 2, of: publisher)
            #expect(try await recorder.stop().report.streams.first?.lost == 2)
        }
    }

    /// For example, the recorder's key is briefly missing from the publisher's list.
    @Test func aRefusalThatSaysNothingOfTheSamplesIsAskedAgain() async throws {
        try await record(recoveryLimit: "30s") { recorder, publisher in
            publisher.onReplay { _ in throw RequestError(.notAllowed, "this key is no longer allowed") }
            let asked = publisher.replaysAsked
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            try await eventually("it is asked again") { publisher.replaysAsked >= asked + 3 }
            publisher.onReplay(nil)
            try await recorder.hasAll(of: publisher)
            #expect(try await recorder.stop().report.isWhole)
        }
    }

    /// For example, the network is down during a replay: the publisher still has the samples.
    @Test func aPublisherOfWhichNothingIsHeardIsAskedOn() async throws {
        try await record(recoveryLimit: "6s") { recorder, publisher in
            let gate = publisher.gateReplays()
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            // Each request waits at least 2 s, so the limit is over and nothing was heard meanwhile.
            try await eventually("questions beyond the limit") { publisher.replaysAsked >= 4 }
            #expect(try await recorder.log(of: publisher)?.gaps == 0)
            gate.open()
            publisher.onReplay(nil)
            try publisher.sample(2)
            try await recorder.hasAll(of: publisher)
            let report = try await recorder.stop().report
            #expect(report.isWhole)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    @Test func aPublisherThatIsGoneKeepsNoStopWaiting() async throws {
        try await record(recoveryLimit: "200ms") { recorder, publisher in
            publisher.onList { throw RequestError(.stopping, "gone") }
            publisher.onReplay { _ in throw RequestError(.unknownStream, "gone") }
            try publisher.sample(2)
            try await recorder.hasAll(of: publisher)
            let report = try await recorder.stop().report
            // Whether there is also a gap of unknown length depends on when the publisher was last heard.
            #expect(report.streams.first?.lost == 0)
            #expect(report.streams.first?.isEndKnown == false)
        }
    }

    @Test func theProgramsEndDoesNotWaitForASilentPublisher() async throws {
        try await record(recoveryLimit: "60s") { recorder, publisher in
            let first = publisher.next
            let gate = publisher.gateReplays(error: CancellationError())
            publisher.onList { await gate.pass() }
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            let start = ContinuousClock.now
            await recorder.shutDown()
            let report = try #require(try await recorder.events.recording(.report).report)
            #expect(ContinuousClock.now - start < .seconds(20))
            #expect(report.status == "finished")
            // If the publisher was silent for too long, the end of its run is unknown, too.
            #expect(report.streams.first?.gaps.filter { $0.count > 0 }.map(\.from) == [first])
            #expect(report.streams.first?.received == first + 3)
            gate.open()
        }
    }

    @Test func whatIsTooMuchToWaitIsAskedForLater() async throws {
        try await record(recoveryLimit: "20s", holdLimit: "4KB") { recorder, publisher in
            let gate = publisher.gateReplays()
            try await loseTwo(of: publisher)
            for _ in 0..<30 { try publisher.sample(3) }
            publisher.onReplay(nil)
            gate.open()
            // An arriving sample or description reveals the samples that were not kept.
            try await recorder.describing([publisher]) {
                try await recorder.hasAll(of: publisher)
            }
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    @Test func aNewEpochIsRecordedFromItsFirstSample() async throws {
        try await record { recorder, publisher in
            let old = publisher.next
            try publisher.sample(2)
            try await recorder.hasAll(of: publisher)
            publisher.restart()
            try publisher.sample(3, isLost: true)
            try publisher.sample(2)
            try await recorder.has(old + 7, of: publisher)
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            let samples = try await recorder.records().filter(\.isSample)
            #expect(samples.map { $0.y ?? -1 } == [Double](repeating: 0, count: old + 2) + [1, 1, 1, 1, 1])
            #expect(samples.suffix(5).compactMap(\.x) == [0, 1, 2, 3, 4])
            #expect(try recorder.directory().record().logs.first?.epochs.count == 2)
        }
    }

    @Test func aPublisherThatRestartsInARecoveryLeavesAGap() async throws {
        try await record(recoveryLimit: "10s") { recorder, publisher in
            let first = publisher.next
            let epoch = publisher.epoch
            let gate = publisher.gateReplays()
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            publisher.restart()
            try publisher.sample(4)
            try publisher.sample(2, isLost: true)
            try publisher.sample(1)
            gate.open()
            try await recorder.has(first + 3 + 7, of: publisher)
            let result = try await recorder.stop()
            let gap = Gap(epoch: epoch, from: first, count: 2, reason: .epochEnded)
            #expect(result.report.streams.first?.gaps.map(\.plain) == [gap])
            #expect(
                try await recorder.records().sequences
                    == Array(0..<first) + [first + 2, first + 3, first + 4] + Array(0..<7))
        }
    }

    @Test func otherFieldsBeginAnotherFileAlsoInARecovery() async throws {
        try await record(recoveryLimit: "10s") { recorder, publisher in
            let first = publisher.next
            let gate = Gate()
            publisher.onReplay { [publisher] in
                let answer = try publisher.answer($0)
                await gate.pass()
                return answer
            }
            try await loseTwo(of: publisher)
            publisher.restart(fields: ["uptime", "x", "y", "z"])
            try publisher.sample(4)
            gate.open()
            try await recorder.has(first + 3 + 4, of: publisher)
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            let files = try #require(result.logs.first?.files)
            #expect(files.count == 2)
            let old = try LogItem.read(recorder.path(files[0]))
            let new = try LogItem.read(recorder.path(files[1]))
            #expect(old.sequences == Array(0..<first + 3))
            #expect(new.sequences == Array(0..<4))
            #expect(new.allSatisfy { !$0.isSample || $0.z == 0 })
            // Each file is readable by itself.
            #expect(new.markers == ["step", "stop"])
            try await recorder.events.recording(.report)
            #expect(recorder.events.segments.map(\.sequence) == [0, 1])
        }
    }

    @Test func twoPublishersOfOneStreamAreBothRecordedAndAsked() async throws {
        let one = try await FakePublisher()
        let two = try await FakePublisher()
        two.set { $0.epochNumber = 7 }
        try await RecorderUnderTest.run(listeningTo: [one, two]) { recorder in
            try one.sample(20)
            try two.sample(30)
            // Both streams are known before the session starts.
            try await recorder.start("warm", one, two)
            _ = try await recorder.stop("warm")
            try await recorder.start("s", one, two)
            for publisher in [one, two] { try publisher.sample(2, isLost: true) }
            for publisher in [one, two] { try publisher.sample(3) }
            try await recorder.describing([one, two]) { try await recorder.has(10, of: one) }
            let report = try await recorder.stop().report
            #expect(report.streams.first?.lost == 0)
            let samples = try await recorder.records().filter(\.isSample)
            #expect(samples.filter { $0.y == 0 }.compactMap(\.x) == [20, 21, 22, 23, 24])
            #expect(samples.filter { $0.y == 7 }.compactMap(\.x) == [30, 31, 32, 33, 34])
        }
    }

    @Test func aReplayOfOtherSamplesIsNotTaken() async throws {
        try await record { recorder, publisher in
            let first = publisher.next
            let gyro = StreamName(device: "phone", stream: "gyro")
            publisher.onReplay { [publisher] request in
                var (reply, _) = try publisher.answer(request)
                // The right numbers of the wrong stream, and old samples of the right stream.
                let frames = [publisher.batch(request.from..<request.from + request.count, of: gyro).body]
                reply.count = request.count
                return (reply, frames + [publisher.batch(0..<1).body])
            }
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            try await recorder.has(publisher.next - 2, of: publisher)
            let gaps = try await recorder.stop().report.streams.first?.gaps
            #expect(gaps?.map(\.plain) == [Gap(epoch: publisher.epoch, from: first, count: 2, reason: .malformed)])
        }
    }

    @Test func ofAReplayOnlyWhatCanNotBeReadIsLost() async throws {
        try await record { recorder, publisher in
            let first = publisher.next
            publisher.onReplay { [publisher] request in
                var (reply, frames) = try publisher.answer(request)
                if request.from <= first + 10, frames.count > 1 { frames[1] = Array("{]".utf8) }
                reply.count = max(1, reply.count)
                return (reply, frames)
            }
            try publisher.sample(30, isLost: true)
            try publisher.sample(3)
            try await recorder.has(publisher.next - 10, of: publisher)
            let gaps = try await recorder.stop().report.streams.first?.gaps
            let gap = Gap(epoch: publisher.epoch, from: first + 10, count: 10, reason: .malformed)
            #expect(gaps?.map(\.plain) == [gap])
        }
    }

    @Test func anAnswerWithoutSamplesIsNotAskedForEndlessly() async throws {
        try await record { recorder, publisher in
            publisher.onReplay { request in
                (SamplesReplay.Reply(from: .min, count: .max, first: .min, last: .max), [])
            }
            try publisher.sample(2, isLost: true)
            try publisher.sample(3)
            try await recorder.has(publisher.next - 2, of: publisher)
            #expect(try await recorder.stop().report.streams.first?.gaps.map(\.reason) == [.malformed])
        }
    }

    @Test(arguments: [false, true])
    func aBatchThatCanNotBeReadIsHadAgain(isPacked: Bool) async throws {
        try await record(isPacked: isPacked) { recorder, publisher in
            try publisher.sample(3, isLost: true)
            let from = publisher.next - 3
            let (body, packed) = publisher.batch(from..<from + 3)
            // Counts that do not match the body.
            let text = String(decoding: body, as: UTF8.self)
            for count in ["9007199254740992", "9223372036854775807", "2000"] {
                let lie = text.replacing("\"count\":3", with: "\"count\":\(count)")
                try publisher.publish(body: Array(lie.utf8), packed: packed)
            }
            let far = text.replacing("\"sequence\":\(from)", with: "\"sequence\":9223372036854775807")
            try publisher.publish(body: Array(far.utf8), packed: packed)
            try publisher.publish(body: Array(body.dropLast()), packed: packed)
            try publisher.publish(body: body, packed: packed.map { $0.dropLast() } ?? [1])
            if isPacked { try publisher.publish(body: body) }
            try publisher.sample(2)
            try await recorder.hasAll(of: publisher)
            #expect(try await recorder.stop().report.isWhole)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    @Test func rowsThatCanNotBeReadAreAGap() async throws {
        try await record { recorder, publisher in
            let first = publisher.next
            try publisher.sample(3, isLost: true)
            let body = String(decoding: publisher.batch(first..<first + 3).body, as: UTF8.self)
            try publisher.publish(body: Array(body.replacing("[[", with: "[[1,").utf8))
            try publisher.sample(2)
            try await recorder.has(publisher.next - 3, of: publisher)
            let gaps = try await recorder.stop().report.streams.first?.gaps
            #expect(gaps?.map(\.plain) == [Gap(epoch: publisher.epoch, from: first, count: 3, reason: .malformed)])
        }
    }

    @Test func descriptionsThatMakeNoSenseDoNoHarm() async throws {
        let publisher = try await FakePublisher()
        let other = try await FakePublisher(StreamName(device: "phone", stream: "gyro"))
        try await RecorderUnderTest.run(listeningTo: [publisher, other]) { recorder in
            try await recorder.start("s", publisher, streams: ["phone/"])
            try await recorder.prime(publisher)
            try other.describe { $0.fields = [] }
            try other.describe { $0.stream = "gyro/x" }
            try other.describe { $0.clock = ClockReading(uptime: 1e300, date: .now) }
            try other.describe { $0.clock = ClockReading(uptime: .nan, date: .now) }
            try other.describe { $0.clock = ClockReading(uptime: 1, date: WallTime(nanosecondsSince1970: .min)) }
            try other.describe { $0.nextSequence = .min }
            try publisher.describe { $0.nextSequence = -7 }
            try other.sample(2)
            try await recorder.describing([other]) { try await recorder.has(2, of: other) }
            try publisher.sample(2)
            try await recorder.hasAll(of: publisher)
            #expect(try await recorder.stop().report.isWhole)
        }
    }

    @Test func aDescriptionThatClaimsMuchIsAGapAtOnce() async throws {
        try await record { recorder, publisher in
            let first = publisher.next
            try publisher.describe { $0.nextSequence = .max }
            let gap = try #require(try await recorder.events.recording(.gap).gap)
            #expect(gap.from == first)
            #expect(gap.reason == .notRetained)
            let report = try await recorder.stop().report
            #expect(!report.isWhole)
            #expect(try await recorder.records().sequences == Array(0..<first))
        }
    }

    @Test func timesThatMakeNoSenseAreRecordedAsTheyCome() async throws {
        try await record { recorder, publisher in
            for uptime in [-1, 1e30, -1e300, .infinity] { try publisher.sample(uptime: uptime) }
            try await recorder.hasAll(of: publisher)
            #expect(try await recorder.stop().report.isWhole)
        }
    }

    /// Loses two samples and publishes a third; returns when the recorder has requested the two.
    private func loseTwo(of publisher: FakePublisher) async throws {
        let asked = publisher.replaysAsked
        try publisher.sample(2, isLost: true)
        try publisher.sample()
        try await eventually("a request for the missing samples") { publisher.replaysAsked > asked }
    }

    /// A session whose recovery limit suits a busy machine.
    private func record(
        isPacked: Bool = false, recoveryLimit: String = "20s", holdLimit: String = "64MB",
        _ body: @escaping @Sendable (RecorderUnderTest, FakePublisher) async throws -> Void
    ) async throws {
        try await RecorderUnderTest.record(
            isPacked: isPacked, recoveryLimit: recoveryLimit, holdLimit: holdLimit, body)
    }
}
