import Messages
import MessageBus
import RecorderCore
import Recording
import SystemPackage
import TestSupport
import Testing

/// Publisher runs that ended after a silence: samples may be missing, and the session must report that.
struct UnheardEndTests {
    private static let name = StreamName(device: "phone", stream: "gyro")
    private static let start: Int64 = 1_800_000_000_000_000_000

    private static func moment(_ seconds: Double) -> Moment {
        let nanoseconds = Int64(seconds * 1e9)
        return Moment(monotonic: nanoseconds, date: WallTime(nanosecondsSince1970: start + nanoseconds))
    }

    private static func description(
        _ epoch: String, next: Int, at seconds: Double, from source: String = "sensor-publisher",
        state: StreamDescription.State = .running
    ) -> StreamDescription {
        StreamDescription(
            source: source, sequence: 0, device: name.device, stream: name.stream, epoch: epoch, state: state,
            fields: ["uptime", "x"], rate: 10, packed: false, nextSequence: next,
            replay: "tcp://10.0.0.1:5552", clock: ClockReading(uptime: seconds, date: moment(seconds).date))
    }

    private static func take(
        _ epoch: String, from first: Int, count: Int = 10, by stream: StreamRecording, at seconds: Double,
        received: Double? = nil, becoming expected: StreamRecording.Outcome = .written,
        spelling: (String) -> String = { $0 }
    ) throws {
        let encoder = SampleBatchEncoder(
            source: "sensor-publisher", device: name.device, stream: name.stream, epoch: epoch,
            fields: ["uptime", "x"],
            isPacked: false)
        var buffer = ByteBuffer(capacity: 0)
        let rows = (0..<count).flatMap { [seconds + Double($0) / 10, Double(first + $0)] }
        rows.withUnsafeBufferPointer { rows in
            encoder.encode(
                sequence: first, count: count, clock: ClockReading(uptime: seconds, date: moment(seconds).date),
                rows: rows, into: &buffer)
        }
        let text = buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        try Array(spelling(text).utf8).withUnsafeBytes { bytes in
            let outcome = try stream.take(
                ReceivedBatch(SampleBody(bytes), bytes, packed: nil), published: moment(seconds).date,
                at: moment(received ?? seconds))
            #expect(outcome == expected)
        }
    }

    /// A moment after the recorder's wall clock was set.
    private static func moment(_ seconds: Double, set: Double) -> Moment {
        var moment = moment(seconds)
        moment.date = moment.date.adding(Int64(set * 1e9))
        return moment
    }

    /// Resumes a stream from what a killed recorder stored.
    private static func resume(_ record: SessionRecord.Log, _ body: (StreamRecording) throws -> Void) throws {
        try withTemporaryDirectory { data in
            let positions = record.epochs.map { Marker.Position(epoch: $0.epoch, next: $0.next) }
            try body(
                StreamRecording(
                    record, RecoveredLog(file: nil, positions: positions), of: session(in: data), at: moment(30)))
        }
    }

    private static func session(in data: FilePath) throws -> Session {
        let record = SessionRecord(
            session: try SessionIdentifier("s"), task: "", step: "", streams: ["*"], format: .json, root: .array,
            status: .running, startDate: moment(1).date)
        return try Session(
            record, in: SessionDirectory.create(record, in: data), appender: LogAppender(log: "L1", position: 0),
            held: HeldBytes(limit: 1 << 20), at: moment(1))
    }

    /// Records a run of 20 samples, the second half of which arrives at 3 s.
    /// - Parameter body: receives the stream, and a closure that resumes the session after a kill.
    private func withStream(
        from source: String = "sensor-publisher", _ body: (StreamRecording) throws -> Void
    ) throws {
        try withTemporaryDirectory { data in
            let stream = try Self.session(in: data).open(
                Self.description("E1", next: 0, at: 1, from: source), from: 0, at: Self.moment(1)
            ) { _ in
                nil
            }
            try Self.take("E1", from: 0, by: stream, at: 2)
            try Self.take("E1", from: 10, by: stream, at: 3)
            try body(stream)
        }
    }

    @Test func aRunThatBeginsLaterLacksNothingBefore() throws {
        try withStream { stream in
            var next = Self.description("E2", next: 500, at: 4)
            next.first = 500
            try stream.meet(next, from: nil, at: Self.moment(4))
            try Self.take("E2", from: 500, by: stream, at: 4.5)
            #expect(stream.gaps.isEmpty)
            #expect(stream.record.epochs.map(\.from) == [0, 500])
            try Self.take("E2", from: 515, by: stream, at: 5, becoming: .recover)
        }
    }

    @Test func aPublisherThatIsBackAtOnceLeavesNoGap() throws {
        try withStream { stream in
            try Self.take("E2", from: 0, by: stream, at: 4.9)
            try stream.meet(Self.description("E2", next: 10, at: 5), from: nil, at: Self.moment(5))
            #expect(stream.gaps.isEmpty)
        }
    }

    /// The gaps that the session's end finds in a stream whose last samples arrived at 3 s.
    private static func gaps(of stream: StreamRecording, at seconds: Double) -> [Gap] {
        stream.noteUnheard(at: moment(seconds))
        stream.noteUnknownEnds(at: moment(seconds).date)
        return stream.gaps
    }

    @Test func aPublisherThatCannotBeAskedMayHavePublishedMore() throws {
        try withStream { #expect(Self.gaps(of: $0, at: 4.9).isEmpty) }
        try withStream { stream in
            let gaps = Self.gaps(of: stream, at: 5.1)
            #expect(gaps.map(\.epoch) == ["E1"] && gaps.map(\.from) == [20] && gaps.map(\.count) == [0])
            #expect(gaps.map(\.reason) == [.publisherUnreachable])
        }
        // The recorder's machine slept.
        try withStream { stream in
            let now = Self.moment(3.5, set: 6)
            stream.noteUnheard(at: now)
            stream.noteUnknownEnds(at: now.date)
            #expect(stream.gaps.map(\.from) == [20])
        }
        // The publisher is heard but can't be asked.
        try withStream { stream in
            stream.hear(Self.description("E1", next: 20, at: 4.5), at: Self.moment(4.5))
            #expect(Self.gaps(of: stream, at: 6).isEmpty)
        }
        try withStream { stream in
            stream.hear(Self.description("E1", next: 30, at: 4.5), at: Self.moment(4.5))
            #expect(Self.gaps(of: stream, at: 6).count == 1, "it has published more")
        }
        try withStream { stream in
            try stream.meet(Self.description("E1", next: 20, at: 3, state: .stopped), from: nil, at: Self.moment(3))
            #expect(Self.gaps(of: stream, at: 60).isEmpty, "nothing was sampled")
        }
        try withStream { stream in
            stream.end(Self.description("E1", next: 20, at: 3))
            #expect(Self.gaps(of: stream, at: 60).isEmpty, "it said how far it came")
        }
    }

    @Test func aPublisherThatEndedInGoodOrderHasPublishedNoMore() throws {
        try withStream { stream in
            var last = Self.description("E1", next: 20, at: 3)
            last.over = true
            try stream.meet(last, from: nil, at: Self.moment(3))
            #expect(Self.gaps(of: stream, at: 60).isEmpty)
            try Self.resume(stream.record) { #expect(Self.gaps(of: $0, at: 60).isEmpty, "after a restart, too") }
        }
    }

    private typealias Cases = [(heard: Double?, isPaused: Bool, count: Int)]

    @Test func whatIsTakenWhileASessionIsPausedIsNoLoss() throws {
        // A message right after the pause began does not show whether samples were still in transit.
        for (heard, isPaused, count) in [(4.7, true, 0), (4.5, true, 1), (nil, true, 1), (4.7, false, 1)] as Cases {
            try withTemporaryDirectory { data in
                let session = try Self.session(in: data)
                let stream = try session.open(Self.description("E1", next: 0, at: 1), from: 0, at: Self.moment(1)) {
                    _ in nil
                }
                try Self.take("E1", from: 0, by: stream, at: 3)
                #expect(try session.pause(at: Self.moment(3.5)))
                stream.noteLeftOut(at: Self.moment(3.6).monotonic)
                if let heard { stream.hear(Self.description("E1", next: 10, at: heard), at: Self.moment(heard)) }
                stream.noteLeftOut(at: Self.moment(4.8).monotonic)
                if !isPaused {
                    #expect(try session.resume(at: Self.moment(6)))
                    stream.noteLeftOut(at: Self.moment(6.5).monotonic)
                }
                #expect(Self.gaps(of: stream, at: 20).count == count)
            }
        }
    }

    @Test func aRunThatGoesOnAfterItsEndMayLackItsEndAgain() throws {
        try withStream { stream in
            var last = Self.description("E1", next: 20, at: 3)
            last.over = true
            try stream.meet(last, from: nil, at: Self.moment(3))
            try stream.meet(Self.description("E1", next: 20, at: 5), from: nil, at: Self.moment(5))
            #expect(Self.gaps(of: stream, at: 7.1).count == 1)
        }
    }

    /// A phone behind a relay that sends every 20 s.
    @Test func aPhoneThatSendsSeldomLacksNothingInBetween() throws {
        try withStream(from: "relay") { stream in
            try Self.take("E1", from: 20, by: stream, at: 23)
            stream.end(Self.description("E1", next: 30, at: 60, from: "relay"))
            #expect(Self.gaps(of: stream, at: 62.9).isEmpty)
        }
        try withStream(from: "relay") { stream in
            try Self.take("E1", from: 20, by: stream, at: 23)
            stream.end(Self.description("E1", next: 30, at: 63, from: "relay"))
            #expect(Self.gaps(of: stream, at: 63.1).count == 1)
        }
    }

    /// The relay describes the samples that it has, not those that are still on their way to it.
    @Test func aRelayToWhichNothingComesMayLackSamples() throws {
        try withStream(from: "relay") { stream in
            stream.end(Self.description("E1", next: 20, at: 12, from: "relay"))
            #expect(Self.gaps(of: stream, at: 12.9).isEmpty)
        }
        try withStream(from: "relay") { stream in
            stream.end(Self.description("E1", next: 20, at: 13, from: "relay"))
            #expect(Self.gaps(of: stream, at: 13.1).map(\.from) == [20])
        }
    }

    @Test func aPublisherThatWasSilentMayHavePublishedMore() throws {
        try withStream { stream in
            try Self.take("E2", from: 0, by: stream, at: 5.1)
            // Only once a description names the endpoint: several publishers may have streams of one name.
            #expect(stream.gaps.isEmpty && stream.record.epochs[0].isUnseen == true)
            try stream.meet(Self.description("E2", next: 10, at: 6), from: nil, at: Self.moment(6))
            #expect(stream.gaps.map(\.epoch) == ["E1"])
            #expect(stream.gaps.map(\.from) == [20] && stream.gaps.map(\.count) == [0])
            #expect(stream.gaps.map(\.reason) == [.epochEnded])
            #expect(stream.record.epochs[0].isUnseen == nil)
            try stream.meet(Self.description("E2", next: 10, at: 7), from: nil, at: Self.moment(7))
            #expect(stream.gaps.count == 1)
        }
    }

    /// After its first description, a publisher may announce any clock values. What it published unheard is then unknown.
    @Test(arguments: [-1e300, -9.3e9, 9.3e9, 1e300], [Int64.min, 0, .max])
    func aClockThatCannotBeEndsInNoMoreThanAGap(uptime: Double, date: Int64) throws {
        try withStream { stream in
            var wrong = Self.description("E1", next: 20, at: 4)
            wrong.clock = ClockReading(uptime: uptime, date: WallTime(nanosecondsSince1970: date))
            try stream.meet(wrong, from: nil, at: Self.moment(4))
            try stream.meet(Self.description("E2", next: 0, at: 4.1), from: nil, at: Self.moment(4.1))
            #expect(stream.gaps.allSatisfy { $0.epoch == "E1" && $0.from == 20 && $0.count == 0 })
            try Self.take("E2", from: 0, by: stream, at: 5)
            #expect(stream.record.epochs.map(\.epoch) == ["E1", "E2"])
        }
    }

    /// Messages may have waited because the recorder hung or its machine slept; publishers may come and go meanwhile.
    @Test func aPublisherThatSaysItSentNothingForLongMayHavePublishedMore() throws {
        try withStream { stream in
            try stream.meet(Self.description("E1", next: 20, at: 4), from: nil, at: Self.moment(9))
            try stream.meet(Self.description("E2", next: 0, at: 9), from: nil, at: Self.moment(9.1))
            #expect(stream.gaps.map(\.from) == [20] && stream.gaps.map(\.count) == [0])
        }
    }

    @Test func samplesThatWaitedForTheRecorderEndNoSilence() throws {
        try withStream { stream in
            try Self.take("E1", from: 20, by: stream, at: 4, received: 9)
            try stream.meet(Self.description("E2", next: 0, at: 9), from: nil, at: Self.moment(9.1))
            #expect(stream.gaps.map(\.from) == [30] && stream.gaps.map(\.count) == [0])
        }
    }

    /// A description counts as a sign of life, too.
    @Test func aDescriptionEndsASilence() throws {
        try withStream { stream in
            try stream.meet(Self.description("E1", next: 20, at: 4.5), from: nil, at: Self.moment(4.5))
            try stream.meet(Self.description("E2", next: 0, at: 6), from: nil, at: Self.moment(6))
            #expect(stream.gaps.isEmpty)
        }
    }

    /// The publisher's last description gives the total number of samples, so none can be missing unnoticed.
    @Test func aPublisherThatEndedInGoodOrderMayComeBackLater() throws {
        try withStream { stream in
            var last = Self.description("E1", next: 20, at: 3.1)
            (last.state, last.over) = (.stopped, true)
            try stream.meet(last, from: nil, at: Self.moment(3.1))
            try Self.resume(stream.record) { #expect($0.record.epochs.map(\.isUnseen) == [nil]) }
            try stream.meet(Self.description("E2", next: 0, at: 60), from: nil, at: Self.moment(60))
            #expect(stream.gaps.isEmpty)
        }
    }

    @Test func samplesThatItPublishedBeforeItsEndAreMissed() throws {
        try withStream { stream in
            var last = Self.description("E1", next: 25, at: 3.1)
            last.over = true
            try stream.meet(last, from: nil, at: Self.moment(3.1))
            let isMissing = stream.intake.expect(epoch: "E1", upTo: last.nextSequence)
            #expect(isMissing)
            #expect(stream.intake.recovery?.missing == 20..<25)
        }
    }

    @Test func anotherPublisherSaysNothingOfTheFirst() throws {
        try withStream { stream in
            var other = Self.description("E2", next: 0, at: 9)
            other.replay = "tcp://10.0.0.2:5552"
            try stream.meet(other, from: nil, at: Self.moment(9))
            #expect(stream.gaps.isEmpty)
        }
    }

    /// A relay still has what the run published, so the recorder asks it, however short the silence was.
    @Test func aRelayIsAskedForTheUnknownEndOfARun() throws {
        try withStream(from: "relay") { stream in
            try Self.take("E2", from: 0, by: stream, at: 3.5, becoming: .recover)
            #expect(stream.intake.recovery?.epoch == "E1" && stream.intake.recovery?.missing.lowerBound == 20)
            try stream.meet(Self.description("E2", next: 10, at: 4, from: "relay"), from: nil, at: Self.moment(4))
            #expect(stream.record.epochs[0].isEndUnknown == true && stream.record.counts.written == 20)
            try stream.takeNothing(at: Self.moment(4))
            #expect(stream.gaps.isEmpty && stream.record.counts.written == 30)
            #expect(stream.record.epochs.map(\.isEndUnknown) == [nil, nil])
        }
    }

    /// An entire other run may have been published meanwhile.
    @Test func aLongSilenceLeavesAGapWhateverARelayHas() throws {
        try withStream(from: "relay") { stream in
            try Self.take("E2", from: 0, by: stream, at: 5.5, becoming: .recover)
            try stream.meet(Self.description("E2", next: 10, at: 6, from: "relay"), from: nil, at: Self.moment(6))
            #expect(stream.gaps.isEmpty)
            try stream.takeNothing(at: Self.moment(6))
            #expect(stream.gaps.map(\.from) == [20] && stream.gaps.map(\.count) == [0])
            #expect(stream.record.epochs.map(\.isUnseen) == [nil, nil] && stream.record.counts.written == 30)
            try stream.meet(Self.description("E2", next: 10, at: 7, from: "relay"), from: nil, at: Self.moment(7))
            #expect(stream.gaps.count == 1)
        }
    }

    /// A relay that catches up may publish a whole run before it describes the next one.
    @Test func theEndOfARunThatWasNeverDescribedIsRequestedToo() throws {
        try withStream(from: "relay") { stream in
            try Self.take("E2", from: 0, by: stream, at: 3.5, becoming: .recover)
            try stream.takeNothing(at: Self.moment(3.5))
            try Self.take("E3", from: 0, by: stream, at: 5, becoming: .recover)
            #expect(stream.intake.recovery?.epoch == "E2" && stream.intake.recovery?.missing.lowerBound == 10)
        }
    }

    @Test func whatARelayNoLongerHasIsAGapOfUnknownLength() throws {
        try withStream(from: "relay") { stream in
            try Self.take("E2", from: 0, by: stream, at: 3.5, becoming: .recover)
            try stream.giveUp(.epochEnded, at: Self.moment(4))
            try stream.meet(Self.description("E2", next: 10, at: 4, from: "relay"), from: nil, at: Self.moment(4))
            #expect(stream.gaps.map(\.from) == [20] && stream.gaps.map(\.count) == [0])
            #expect(stream.record.epochs.map(\.isUnseen) == [nil, nil] && stream.record.counts.written == 30)
        }
    }

    /// Either the next run is described before any of its samples arrive, or the recorder is killed while it asks the relay.
    @Test(arguments: [false, true])
    func aRelayIsAskedAfterAKill(isKnown: Bool) throws {
        try withStream(from: "relay") { stream in
            let next = Self.description("E2", next: 10, at: 31, from: "relay")
            if isKnown { try stream.meet(next, from: nil, at: Self.moment(4)) }
            try Self.resume(stream.record) { stream in
                try stream.meet(next, from: nil, at: Self.moment(31))
                let isMissing = stream.intake.expect(epoch: "E2", upTo: 10)
                #expect(isMissing && stream.intake.isSearchingEnd && stream.intake.recovery?.epoch == "E1")
                #expect(stream.gaps.isEmpty && stream.record.epochs[0].isEndUnknown == true)
            }
        }
    }

    /// After a kill, the stored dates must not make the run being recorded look like one that ended long ago.
    @Test(arguments: [-1_200.0, 1_200])
    func theRunThatIsRecordedMayEndUnheardAfterAKillHoweverTheClockWasSet(by set: Double) throws {
        try withStream { stream in
            try stream.meet(Self.description("E1", next: 20, at: 4), from: nil, at: Self.moment(4))
            var other = Self.description("E2", next: 0, at: 4.5)
            other.replay = "tcp://10.0.0.2:5552"
            try stream.meet(other, from: nil, at: Self.moment(4.5, set: set))
            try Self.resume(stream.record) { #expect($0.record.epochs.map(\.isUnseen) == [true, true]) }
        }
    }

    /// The stored dates are later than all dates after the restart.
    @Test func aClockThatWasSetBackWhileTheRecorderWasAwayEndsNoRun() throws {
        try withStream { stream in
            try stream.meet(Self.description("E1", next: 20, at: 4), from: nil, at: Self.moment(4))
            try Self.resume(stream.record) { stream in
                try stream.meet(
                    Self.description("E2", next: 0, at: 31), from: nil, at: Self.moment(31, set: -1_200))
                try Self.resume(stream.record) { #expect($0.record.epochs.map(\.isUnseen) == [nil, true]) }
            }
        }
    }

    // MARK: A run's samples

    /// JSON may escape any letter, and some writers escape all non-ASCII ones.
    @Test func anEpochMayBeSpelledInTwoWays() throws {
        try withTemporaryDirectory { data in
            let stream = try Self.session(in: data).open(
                Self.description("é", next: 0, at: 1), from: 0, at: Self.moment(1)
            ) { _ in nil }
            try Self.take("é", from: 0, by: stream, at: 2)
            try Self.take("é", from: 10, by: stream, at: 3) { $0.replacing("é", with: "\\u00e9") }
            try Self.take("é", from: 20, by: stream, at: 4)
            #expect(stream.record.epochs.map(\.epoch) == ["é"])
            #expect(stream.record.counts.written == 30 && stream.gaps.isEmpty)
        }
    }

    /// Samples from before the session are left out, except those after a sample that is noted as lost.
    @Test func whatWasLostBeforeTheFirstSampleStaysTheSessions() throws {
        try withTemporaryDirectory { data in
            let stream = try Self.session(in: data).open(
                Self.description("E1", next: 0, at: 1), from: nil, at: Self.moment(1)
            ) { _ in nil }
            try Self.take("E1", from: 0, by: stream, at: 2) { $0.replacing("[2.1,1]", with: "[2.1,[]]") }
            try Self.take("E1", from: 10, by: stream, at: 0)
            try Self.take("E1", from: 20, by: stream, at: 3)
            #expect(stream.gaps.map(\.reason) == [.malformed, .notRetained])
            #expect(stream.gaps.map(\.from) == [0, 10] && stream.gaps.map(\.count) == [10, 10])
            #expect(stream.record.epochs.map(\.from) == [0] && stream.record.counts.written == 10)
        }
    }

    /// NaN does not equal itself, so a report that includes it would differ from session.json.
    @Test func aGapFollowsOnTheLastSampleThatHasATime() throws {
        try withTemporaryDirectory { data in
            let stream = try Self.session(in: data).open(
                Self.description("E1", next: 0, at: 1), from: 0, at: Self.moment(1)
            ) { _ in nil }
            try Self.take("E1", from: 0, by: stream, at: 2) {
                $0.replacing("[2,0]", with: "[\"NaN\",0]").replacing("[2.9,9]", with: "[\"NaN\",9]")
            }
            try stream.meet(Self.description("E2", next: 0, at: 9), from: nil, at: Self.moment(9))
            #expect(stream.gaps.map(\.afterUptime) == [2.8])
            #expect(stream.record.firstUptime == 2.1 && stream.record.lastUptime == 2.8)
            #expect(stream.record.counts.written == 10)
        }
    }
}
