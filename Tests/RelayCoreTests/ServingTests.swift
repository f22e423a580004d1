import Messages
import ServiceKit
import Testing

@testable import RelayCore

/// The decisions of a serving relay.
@Suite(.timeLimit(.minutes(1)))
struct ServingTests {
    private let name = StreamName(device: "d", stream: "s")
    private let core = Serving(
        Serving.Settings(servers: "nats://n", maximumStreams: 10), source: "relay", at: ServingTests.moment(0))

    private static func moment(_ seconds: Double) -> Moment {
        Moment(monotonic: Int64(seconds * 1e9), date: WallTime(seconds: 1_000 + seconds))
    }

    private func description(
        sequence: UInt64, stream: String = "s", epoch: String = "e", site: String = "lab", over: Bool? = nil,
        next: Int = 0, storedAfter seconds: Int64 = 0, state: StreamDescription.State = .running, number: Int = 0,
        publishedAt time: Int = 1_000
    ) throws -> Serving.Message {
        let description = StreamDescription(
            source: "p", sequence: number, device: "d", stream: stream, epoch: epoch, state: state,
            fields: ["uptime", "x"], packed: false, nextSequence: next, replay: "tcp://site",
            clock: ClockReading(uptime: 5, date: WallTime(seconds: 1_000)), lastSample: 5, over: over)
        let event = RelayedEvent(
            name: description.name, place: nil, body: try WireCoding.encode(description), packed: nil,
            time: Array("\(time)".utf8))
        return Serving.Message(
            RelayedMessage([event]), site: site, sequence: sequence, time: 1_000_000_000_000 + seconds * 1_000_000_000)
    }

    private func samples(
        _ range: Range<Int>, sequence: UInt64, epoch: String = "e", site: String = "lab", storedAfter seconds: Int64 = 0
    ) -> Serving.Message {
        let event = RelayedEvent(
            name: name, place: BatchPlace(epoch: epoch, from: range.lowerBound, count: range.count), body: [1],
            packed: nil, time: Array("1000".utf8))
        return Serving.Message(
            RelayedMessage([event]), site: site, sequence: sequence, time: 1_000_000_000_000 + seconds * 1_000_000_000)
    }

    private func takeSent() -> [Int] {
        core.takeEffects().compactMap { effect in
            if case .send(let event) = effect { event.place?.from } else { nil }
        }
    }

    private func takeDescriptions() -> [StreamDescription] {
        core.takeEffects().compactMap { if case .describe(let description) = $0 { description } else { nil } }
    }

    @Test func aStreamIsDescribedAsItIsKnownHere() throws {
        core.begin(replayEndpoint: "tcp://here")
        core.take([try description(sequence: 1), samples(0..<10, sequence: 2)], at: Self.moment(0))
        _ = core.takeEffects()
        core.wake(at: Self.moment(2))
        let description = try #require(takeDescriptions().first)
        #expect(description.replay == "tcp://here")
        #expect(description.nextSequence == 10)
        #expect(description.clock.uptime == 7)
        #expect(description.clock.date == WallTime(seconds: 1_002))
        #expect(description.lastSample == nil)
        #expect(core.list(StreamsList(), at: Self.moment(2)).streams.first?.nextSequence == 10)
    }

    /// Receivers that have the samples drop them; others would miss them.
    @Test func whatComesAgainIsSentAgain() throws {
        core.take([try description(sequence: 1), samples(0..<10, sequence: 2)], at: Self.moment(0))
        #expect(takeSent() == [0])
        core.take([samples(0..<10, sequence: 2), samples(10..<20, sequence: 3)], at: Self.moment(1))
        #expect(takeSent() == [0, 10])
        core.take([samples(0..<10, sequence: 2), try description(sequence: 1, epoch: "old")], at: Self.moment(2))
        #expect(takeSent() == [0])
        #expect(core.streams[name]?.last?.place.end == 20)
        #expect(core.streams[name]?.description.epoch == "e")
    }

    /// A recorder that met the stream after that run would mistake it for one of its own runs.
    @Test func whatComesAgainOfAnEarlierRunIsNotSentAgain() throws {
        core.take([samples(0..<10, sequence: 2), samples(10..<20, sequence: 3)], at: Self.moment(0))
        core.take([samples(0..<10, sequence: 4, epoch: "f")], at: Self.moment(1))
        _ = takeSent()
        core.take([samples(10..<20, sequence: 3), samples(0..<10, sequence: 4, epoch: "f")], at: Self.moment(2))
        core.take([samples(0..<10, sequence: 5, epoch: "g")], at: Self.moment(2))
        #expect(takeSent() == [0, 0])
        core.take([samples(0..<10, sequence: 4, epoch: "f")], at: Self.moment(3))
        #expect(takeSent().isEmpty)
    }

    /// The new stream's numbers start over.
    @Test func aStreamOfNATSThatIsMadeAnewIsServedFromItsFirstMessage() throws {
        core.noteStream(madeAt: 1)
        core.take([try description(sequence: 500), samples(0..<10, sequence: 501)], at: Self.moment(0))
        core.noteStream(madeAt: 2)
        core.take(
            [
                try description(sequence: 1, epoch: "f"), samples(0..<10, sequence: 2, epoch: "f"),
                samples(10..<20, sequence: 3, epoch: "f"),
            ], at: Self.moment(1))
        #expect(takeSent() == [0, 0, 10])
        core.wake(at: Self.moment(2))
        let described = try #require(takeDescriptions().last)
        #expect(described.epoch == "f" && described.nextSequence == 20)
        #expect(try plan("f", 15).place == 2...3)
        // The deleted stream's messages are not searched by their numbers.
        #expect(try plan("e", 5).place == nil)
        #expect(try plan("e", 5).knownEnd == 5)
    }

    @Test func aStreamThatWasKnownFromTheStartIsServedFromAStreamThatIsMadeAnew() throws {
        core.noteStream(madeAt: 1)
        core.know(
            try description(sequence: 900), last: samples(50..<60, sequence: 1_000), publishedUpTo: 1_000,
            at: Self.moment(0))
        core.finishKnowing()
        core.noteStream(madeAt: 2)
        // The stream keeps its description until new samples arrive.
        core.wake(at: Self.moment(1))
        #expect(takeDescriptions().map(\.nextSequence) == [60])
        #expect(try plan("e", 55).knownLast == 0)
        core.take([samples(60..<70, sequence: 1)], at: Self.moment(2))
        core.wake(at: Self.moment(3))
        #expect(takeDescriptions().map(\.nextSequence) == [70])
        #expect(try plan("e", 65).place == 1...1)
        #expect(try plan("e", 65).knownLast == 1)
    }

    @Test func theSameStreamOfNATSIsNoOther() throws {
        core.noteStream(madeAt: 1)
        core.take([samples(0..<10, sequence: 2), samples(0..<10, sequence: 3, epoch: "f")], at: Self.moment(0))
        core.noteStream(madeAt: 1)
        core.take([samples(0..<10, sequence: 2)], at: Self.moment(1))
        #expect(takeSent() == [0, 0])
    }

    @Test func ofTwoSitesWithOneNameTheFirstIsServed() throws {
        core.take([try description(sequence: 1), samples(0..<10, sequence: 2)], at: Self.moment(0))
        _ = takeSent()
        core.take([samples(0..<10, sequence: 3, epoch: "f", site: "ward")], at: Self.moment(1))
        #expect(takeSent().isEmpty)
    }

    /// Health's warning under a key, after a check of everything.
    private func warning(_ key: String, at seconds: Double) -> String? {
        _ = core.takeEffects()
        core.wake(at: Self.moment(seconds))
        var warning: String?
        for case .notice(.report(_, let sentence, for: key, lasting: _)) in core.takeEffects() { warning = sentence }
        return warning
    }

    /// The restarted relay finds the streams of both in the servers.
    @Test func ofTwoSitesWithOneNameTheFirstThatIsFoundIsServedAfterARestart() throws {
        for (sequence, site) in [(1, "lab"), (2, "ward")] as [(UInt64, String)] {
            core.know(
                try description(sequence: sequence, site: site), last: nil, publishedUpTo: 5, at: Self.moment(0))
        }
        #expect(core.streams[name]?.site == "lab")
        #expect(warning("twice", at: 1)?.contains("lab and ward") == true)
    }

    @Test func thatTwoSitesHaveAStreamIsSaidAsLongAsBothDo() throws {
        core.take([try description(sequence: 1), samples(0..<10, sequence: 2)], at: Self.moment(0))
        for hour in 0..<3 {
            // The stream that is served continues.
            core.take(
                [samples(0..<10, sequence: UInt64(10 + hour), storedAfter: Int64(hour) * 3_600)],
                at: Self.moment(3_600 * Double(hour)))
            if hour == 0 { core.take([samples(0..<10, sequence: 3, site: "ward")], at: Self.moment(0)) }
            let isSaid = warning("twice", at: 3_600 * Double(hour) + 60)?.contains("lab and ward") == true
            #expect(isSaid == (hour == 0))
        }
    }

    /// Two sites have the same name, such as the default of cloned machines.
    @Test(arguments: [["e", "f"], ["e", "f", "g"]])
    func publishersThatSendAStreamUnderOneSiteNameAreReported(epochs: [String]) throws {
        core.noteStream(madeAt: 1)
        core.take([try description(sequence: 1)], at: Self.moment(0))
        for message in 0..<24 {
            let from = 10 * (message / epochs.count)
            let epoch = epochs[message % epochs.count]
            core.take(
                [samples(from..<from + 10, sequence: UInt64(2 + message), epoch: epoch)],
                at: Self.moment(0))
            // A restart with a late message of the former run looks the same at first.
            if message == 3 { #expect(warning("mixed", at: 1) == nil) }
        }
        #expect(warning("mixed", at: 2)?.contains("d/s under the site name lab") == true)
        core.noteStream(madeAt: 2)
        #expect(warning("mixed", at: 3) == nil)
    }

    /// Each start is a run.
    @Test func aPublisherThatRestartsAgainAndAgainIsNotTakenForTwo() throws {
        core.take([try description(sequence: 1)], at: Self.moment(0))
        for run in 0..<50 {
            core.take([samples(0..<10, sequence: UInt64(2 + run), epoch: "e\(run)")], at: Self.moment(0))
        }
        #expect(warning("mixed", at: 1) == nil)
    }

    @Test func aStreamOfNATSThatIsMadeAnewEndsWarnings() throws {
        core.noteStream(madeAt: 1)
        core.take([try description(sequence: 1), samples(0..<10, sequence: 2)], at: Self.moment(0))
        core.take([samples(0..<10, sequence: 3, site: "ward")], at: Self.moment(0))
        #expect(warning("twice", at: 1) != nil)
        core.noteStream(madeAt: 2)
        #expect(warning("twice", at: 2) == nil)
    }

    @Test func thatThereAreTooManyStreamsIsSaidUntilThereIsRoom() throws {
        let names = (0..<11).map { "s\($0)" }
        for (index, name) in names.enumerated() {
            core.take([try description(sequence: UInt64(index + 1), stream: name)], at: Self.moment(0))
        }
        #expect(core.streams.count == 10)
        #expect(warning("streams", at: 1)?.contains("10 streams are served") == true)
        core.take([try description(sequence: 20, stream: "s0", over: true)], at: Self.moment(2))
        #expect(warning("streams", at: 3) == nil)
        core.take([try description(sequence: 21, stream: "s10")], at: Self.moment(4))
        #expect(core.streams.count == 10)
        #expect(warning("streams", at: 5) == nil)
    }

    @Test func aStreamThatIsOverIsForgotten() throws {
        core.take([try description(sequence: 1), samples(0..<10, sequence: 2)], at: Self.moment(0))
        core.take([try description(sequence: 3, over: true, next: 10)], at: Self.moment(1))
        #expect(takeDescriptions().last?.over == true)
        #expect(core.streams.isEmpty)
    }

    /// A restarted relay at a site may repeat earlier descriptions: an old failure must not count as a new one.
    @Test func aDescriptionThatIsOlderThanWhatIsKnownIsIgnored() throws {
        func state() -> StreamDescription.State? { core.streams[name]?.description.state }
        core.take([try description(sequence: 1, number: 5, publishedAt: 1_005)], at: Self.moment(5))
        core.take(
            [try description(sequence: 2, state: .failed, number: 3, publishedAt: 1_003)], at: Self.moment(6))
        #expect(state() == .running)
        // A restarted program counts from 0, and a clock may be set back.
        core.take(
            [try description(sequence: 3, state: .failed, number: 0, publishedAt: 1_007)], at: Self.moment(7))
        #expect(state() == .failed)
        core.take([try description(sequence: 4, number: 1, publishedAt: 900)], at: Self.moment(8))
        #expect(state() == .running)
    }

    @Test func aDescriptionOfAnEarlierRunIsIgnored() throws {
        for (sequence, epoch) in [(1, "e"), (2, "f"), (3, "e")] as [(UInt64, String)] {
            core.take([try description(sequence: sequence, epoch: epoch)], at: Self.moment(0))
        }
        #expect(core.streams[name]?.description.epoch == "f")
    }

    @Test func aStreamThatIsOverDoesNotBeginAgainWithAnOldDescription() throws {
        core.take(
            [
                try description(sequence: 1, epoch: "d"), try description(sequence: 2),
                try description(sequence: 3, over: true),
            ], at: Self.moment(0))
        _ = core.takeEffects()
        for (sequence, epoch) in [(4, "d"), (5, "e")] as [(UInt64, String)] {
            core.take([try description(sequence: sequence, epoch: epoch)], at: Self.moment(1))
        }
        #expect(core.streams.isEmpty)
        #expect(takeDescriptions().isEmpty)
    }

    /// A phone that names its run continues it when its publisher restarts.
    @Test func aRunGoesOnAfterItWasOver() throws {
        core.take(
            [try description(sequence: 1), try description(sequence: 2, over: true, next: 10)], at: Self.moment(0))
        _ = core.takeEffects()
        core.take([try description(sequence: 3, next: 11)], at: Self.moment(1))
        #expect(core.streams.count == 1)
        #expect(takeDescriptions().count == 1)
    }

    /// The servers' clock decides how old a message is.
    @Test(arguments: [false, true])
    func aClockThatIsAheadOfTheServersForgetsNoStream(isKnownFromTheStart: Bool) throws {
        func moment(_ seconds: Double) -> Moment {
            Moment(monotonic: Int64(seconds * 1e9), date: WallTime(seconds: 8_200 + seconds))
        }
        let (first, last) = (try description(sequence: 1), samples(0..<10, sequence: 2))
        if isKnownFromTheStart {
            core.know(first, last: last, publishedUpTo: 2, at: moment(0))
        } else {
            core.take([first, last], at: moment(0))
        }
        core.finishKnowing()
        _ = core.takeEffects()
        core.wake(at: moment(1))
        #expect(takeDescriptions().map(\.nextSequence) == [10])
        #expect(refusal("e", 5) == nil)
        core.wake(at: moment(3_600))
        #expect(takeDescriptions().isEmpty)
    }

    /// Such as that of one server of three, for as long as it leads.
    @Test func aServersClockThatIsAheadForgetsNoStream() throws {
        core.noteServers(time: 9_000_000_000_000, at: Self.moment(0))
        core.take([try description(sequence: 1), samples(0..<10, sequence: 2)], at: Self.moment(0))
        core.finishKnowing()
        _ = core.takeEffects()
        core.wake(at: Self.moment(2))
        #expect(takeDescriptions().map(\.nextSequence) == [10])
        #expect(refusal("e", 5) == nil)
    }

    /// No site was running for a while when the relay started.
    @Test func aStreamThatWasSilentForAnHourIsNotDescribedAfterAStart() throws {
        core.noteServers(time: 4_600_000_000_000, at: Self.moment(3_600))
        core.know(
            try description(sequence: 1), last: samples(0..<10, sequence: 2), publishedUpTo: 2, at: Self.moment(3_600))
        core.finishKnowing()
        core.wake(at: Self.moment(3_601))
        #expect(takeDescriptions().isEmpty)
        #expect(core.streams.isEmpty)
    }

    /// Recorders that lag behind treat a refusal as a loss of the samples.
    @Test func theSamplesOfAStreamThatIsOverAreReplayedForAnHour() throws {
        core.finishKnowing()
        core.take([try description(sequence: 1), samples(0..<10, sequence: 2)], at: Self.moment(0))
        core.take([try description(sequence: 3, over: true, next: 10)], at: Self.moment(1))
        _ = core.takeEffects()
        for seconds in [2, 3_599] as [Double] {
            core.wake(at: Self.moment(seconds))
            #expect(takeDescriptions().isEmpty)
            #expect(core.list(StreamsList(), at: Self.moment(seconds)).streams.isEmpty)
            #expect(try plan("e", 5).place == 2...2)
            #expect(try plan("e", 5).knownEnd == 10)
        }
        core.wake(at: Self.moment(3_600))
        #expect(refusal("e", 5)?.data?.reason == RequestError.Reason.unknownStream.word)
    }

    @Test func aStreamThatIsOverMayBeginAgainAtTheSameSiteOrAtAnother() throws {
        for site in ["lab", "ward"] {
            let core = Serving(
                Serving.Settings(servers: "nats://n", maximumStreams: 10), source: "relay", at: Self.moment(0))
            core.finishKnowing()
            core.take(
                [
                    try description(sequence: 1), samples(0..<10, sequence: 2),
                    try description(sequence: 3, over: true, next: 10),
                ], at: Self.moment(0))
            core.take([try description(sequence: 4, epoch: "f", site: site)], at: Self.moment(1))
            // The next run is described before any of its samples.
            let begun = try #require(core.list(StreamsList(), at: Self.moment(1)).streams.first)
            #expect(begun.epoch == "f" && begun.nextSequence == 0 && begun.over == nil)
            core.take([samples(0..<5, sequence: 5, epoch: "f", site: site)], at: Self.moment(1))
            #expect(core.list(StreamsList(), at: Self.moment(1)).streams.map(\.nextSequence) == [5])
            let request = SamplesReplay(device: "d", stream: "s", epoch: "e", from: 5, count: 5)
            let plan = try core.plan(SamplesReplay.Range(request))
            #expect(plan.place?.lowerBound == (site == "lab" ? 2 : nil))
        }
    }

    @Test func noMoreStreamsThatAreOverAreRememberedThanAreServed() throws {
        core.finishKnowing()
        for index in 0..<11 {
            core.take(
                [
                    try description(sequence: UInt64(2 * index + 1), stream: "s\(index)", storedAfter: Int64(index)),
                    try description(
                        sequence: UInt64(2 * index + 2), stream: "s\(index)", over: true, storedAfter: Int64(index)),
                ], at: Self.moment(Double(index)))
        }
        #expect(core.streams.isEmpty)
        let plans = (0..<11).map { index in
            let request = SamplesReplay(device: "d", stream: "s\(index)", epoch: "e", from: 0, count: 5)
            return (try? core.plan(SamplesReplay.Range(request))) != nil
        }
        #expect(plans == [false] + Array(repeating: true, count: 10))
    }

    @Test func samplesAreLookedForBetweenWhatIsKnown() throws {
        core.know(
            try description(sequence: 900), last: samples(5_000..<5_010, sequence: 1_000), publishedUpTo: 1_000,
            at: Self.moment(0))
        for message in 0..<1_000 {
            core.take(
                [samples(5_010 + 10 * message..<5_020 + 10 * message, sequence: UInt64(1_001 + message))],
                at: Self.moment(0))
        }
        #expect(try plan("e", 0).place == 1...1_000)
        let near = try #require(try plan("e", 10_000).place)
        #expect(near.count <= 130)
        #expect(near.contains(1_500))
    }

    private func plan(_ epoch: String, _ from: Int) throws -> ReplayPlan {
        try core.plan(SamplesReplay.Range(SamplesReplay(device: "d", stream: "s", epoch: epoch, from: from, count: 10)))
    }

    /// A replica that lacks published messages of an earlier run lags behind, however many messages came since.
    @Test func howFarEachRunCameIsKnown() throws {
        core.know(
            try description(sequence: 1), last: samples(0..<10, sequence: 2), publishedUpTo: 2, at: Self.moment(0))
        var sequence: UInt64 = 2
        for (epoch, count) in [("e", 30), ("f", 140_000), ("g", 3)] {
            for message in 1...count {
                sequence += 1
                core.take(
                    [samples(10 * message..<10 * message + 10, sequence: sequence, epoch: epoch)], at: Self.moment(0))
            }
            _ = takeSent()
        }
        #expect(try plan("e", 15).knownEnd == 310)
        #expect(try plan("f", 15).knownEnd == 1_400_010)
        #expect(try plan("g", 15).knownEnd == 40)
        #expect(try plan("e", 305).place?.upperBound ?? 0 <= 33)
        let unknown = try plan("d", 15)
        #expect(unknown.place == nil)
        #expect(unknown.knownEnd == 15)
        #expect(unknown.knownLast == sequence)
    }

    /// Such as of a publisher that fails after each start.
    @Test func onlyTheLatestOfManyRunsAreRemembered() throws {
        core.take([try description(sequence: 1)], at: Self.moment(0))
        for run in 0..<5_000 {
            let sequence = UInt64(2 * run + 2)
            core.take(
                [
                    samples(0..<10, sequence: sequence, epoch: "e\(run)"),
                    samples(10..<20, sequence: sequence + 1, epoch: "e\(run)"),
                ], at: Self.moment(0))
            _ = takeSent()
        }
        #expect(try plan("e4999", 15).place == 10_000...10_001)
        for run in [4_600, 4_998] {
            #expect(try plan("e\(run)", 15).place?.contains(UInt64(2 * run + 3)) == true)
            #expect(try plan("e\(run)", 15).knownEnd == 20)
        }
        // Such a run is searched for at the servers' leader.
        #expect(try plan("e0", 15).place == nil)
    }

    /// The headers of a message may contain any numbers.
    @Test func impossibleCountsOfSamplesAreNoReasonToFail() throws {
        for sequence in 1...2_000 {
            core.take([samples(0..<1 << 53, sequence: UInt64(sequence))], at: Self.moment(0))
            core.noteReplayed(1 << 53)
            _ = takeSent()
        }
        #expect(core.samplesSent == .max && core.samplesReplayed == .max)
    }

    private func refusal(_ epoch: String, _ from: Int) -> RequestError? {
        let request = SamplesReplay(device: "d", stream: "s", epoch: epoch, from: from, count: 10)
        do throws(RequestError) {
            _ = try core.plan(SamplesReplay.Range(request))
            return nil
        } catch {
            return error
        }
    }

    /// A recorder would treat any other refusal as a loss of the samples.
    @Test func nothingIsRefusedBeforeTheServersSaidWhatTheyHave() throws {
        #expect(refusal("e", 10)?.data?.reason == RequestError.Reason.busy.word)
        #expect(refusal("e", 10)?.data?.retryAfter != nil)
        core.know(
            try description(sequence: 1), last: samples(0..<20, sequence: 2), publishedUpTo: 2, at: Self.moment(0))
        core.finishKnowing()
        #expect(refusal("e", 10) == nil)
    }

    @Test func aStreamThatNoServerHasIsUnknown() {
        core.finishKnowing()
        #expect(refusal("e", 10)?.data?.reason == RequestError.Reason.unknownStream.word)
    }

    @Test func samplesWithoutADescriptionAreNotUnknown() throws {
        core.finishKnowing()
        core.take([samples(0..<20, sequence: 2)], at: Self.moment(0))
        #expect(refusal("e", 10)?.data?.reason == RequestError.Reason.busy.word)
        core.take([try description(sequence: 3), samples(20..<30, sequence: 4)], at: Self.moment(0))
        #expect(refusal("e", 10) == nil)
    }

    /// After a start, the description may not be stored yet.
    @Test func aStreamWhoseDescriptionTheServersLackIsNotUnknown() throws {
        core.knowUndescribed(name)
        core.finishKnowing()
        #expect(refusal("e", 10)?.data?.reason == RequestError.Reason.busy.word)
        core.take([try description(sequence: 3), samples(20..<30, sequence: 4)], at: Self.moment(0))
        #expect(refusal("e", 10) == nil)
    }

    /// A publisher restarted while nothing was published here: recorders order runs by when they first hear of them.
    @Test func aRunIsNotDescribedBeforeThoseThatStillCome() throws {
        core.know(
            try description(sequence: 7, epoch: "later"), last: samples(0..<10, sequence: 8, epoch: "later"),
            publishedUpTo: 4, at: Self.moment(0))
        core.finishKnowing()
        core.wake(at: Self.moment(1))
        #expect(takeDescriptions().isEmpty)
        core.take([samples(10..<20, sequence: 5)], at: Self.moment(1))
        #expect(takeDescriptions().isEmpty)
        #expect(refusal("e", 0)?.data?.reason == RequestError.Reason.busy.word)
        core.take([try description(sequence: 7, epoch: "later")], at: Self.moment(2))
        // Samples of the previous run can still be requested.
        #expect(takeDescriptions().map(\.epoch) == ["e"])
        #expect(refusal("e", 10) == nil)
        core.take([samples(0..<10, sequence: 8, epoch: "later")], at: Self.moment(2))
        core.wake(at: Self.moment(3))
        #expect(takeDescriptions().map(\.epoch) == ["later"])
    }

    /// A repeated description does not show what was published before it.
    @Test func aStreamIsNotDescribedBeforeItIsKnownHowFarItWasPublished() throws {
        core.know(
            try description(sequence: 7), last: samples(50..<60, sequence: 8), publishedUpTo: 4, at: Self.moment(0))
        core.finishKnowing()
        core.take([try description(sequence: 7)], at: Self.moment(1))
        #expect(takeDescriptions().isEmpty)
        core.take([samples(50..<60, sequence: 8)], at: Self.moment(1))
        #expect(takeDescriptions().map(\.nextSequence) == [60])
    }
}
