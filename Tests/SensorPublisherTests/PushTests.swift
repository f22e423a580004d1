import MessageBus
import Messages
import PublisherCore
import SampleSources
import ServiceKit
import Testing

/// How a publisher handles pushed samples, in virtual time.
@Suite(.timeLimit(.minutes(1)))
struct PushTests {
    private static let second: Int64 = 1_000_000_000
    private let name = StreamName(device: "m5", stream: "accelerometer")
    private let publisher: VirtualPublisher

    init() throws {
        publisher = try VirtualPublisher([], sources: [])
        publisher.begin()
    }

    private func samples(
        _ range: Range<Int>, epoch: String? = "run1", oldest: Int? = nil, start: Double = 0, fields: [String] = ["x"],
        of name: StreamName? = nil
    ) -> PushMessage {
        var rows = PushedRows(fields: fields)
        for number in range {
            rows.append(fields.map { _ in Double(number) }, time: Int64((start + Double(number) / 50) * 1e9))
        }
        return .numbered(
            NumberedSamples(name ?? self.name, epoch: epoch, first: range.lowerBound, oldest: oldest, rows: rows))
    }

    private func message(_ number: Int, _ indexes: Range<Int>, session: String = "s") -> PushMessage {
        var rows = PushedRows(fields: ["x", "y", "z"])
        let date = publisher.now.date.nanosecondsSince1970 / Self.second * Self.second
        for index in indexes { rows.append([Double(index), 0, 0], time: date + Int64(index) * 20_000_000 + 7) }
        return .sensorLogger(
            SensorLoggerMessage(
                number: number, session: session, device: "d1",
                readings: [SensorLoggerMessage.Readings(sensor: "gyroscope", rows: rows)]))
    }

    private func batches(_ name: StreamName? = nil) -> [RowBatch] {
        publisher.epochs[name ?? self.name]?.values.flatMap(\.self).sorted { $0.firstSequence < $1.firstSequence } ?? []
    }

    private func column(_ column: Int, of name: StreamName) -> [Double] {
        batches(name).flatMap { batch in (0..<batch.count).map { batch.rows[$0 * batch.columns + column] } }
    }

    private func sequences(_ name: StreamName? = nil) -> [Int64] {
        batches(name).flatMap { batch in (0..<batch.count).map { batch.firstSequence + Int64($0) } }
    }

    @Test func samplesAreAcknowledgedByNumberOnceTheyArePublishedAndKept() throws {
        let request = publisher.push(samples(0..<10))
        #expect(publisher.pushAnswers[request] == .accepted(next: 10))
        #expect(sequences() == Array(0..<10))
        let description = try #require(publisher.heard.first?.descriptions.first)
        #expect(description.name == name)
        #expect(description.epoch == "run1@0")
        #expect(description.origin == .measured)
        #expect(description.nextSequence == 0, "a listener knows the fields before the samples come")
        let replay = try publisher.replay(
            SamplesReplay(device: "m5", stream: "accelerometer", epoch: "run1@0", from: 0, count: 10))
        #expect(replay.batches.flatMap(\.rows).map { $0[1] } == (0..<10).map(Double.init))
    }

    @Test func aRunSaysWithWhichSampleItBegan() throws {
        _ = publisher.push(samples(40..<50, epoch: nil))
        let description = try #require(publisher.heard.first?.descriptions.first)
        #expect(description.first == 40)
        #expect(description.nextSequence == 40)
    }

    /// An earlier program may have published the samples before.
    @Test func whereARunBeganIsNotKnownIfTheClientNamesIt() throws {
        _ = publisher.push(samples(40..<50, epoch: "run1"))
        let description = try #require(publisher.heard.first?.descriptions.first)
        #expect(description.first == nil)
        #expect(description.nextSequence == 40)
    }

    private func answer(to message: PushMessage) -> PushAnswer? {
        let request = publisher.push(message)
        return publisher.pushAnswers[request]
    }

    private func note(_ change: RecordingEvent.Change, status: String, session: String = "s1", reason: String? = nil) {
        publisher.core.note(
            RecordingEvent(
                source: "recorder", sequence: 0, session: session, date: publisher.now.date, change: change,
                status: status, step: "", reason: reason), at: publisher.now)
    }

    @Test func aPersonIsToldThatTheRecordingHasFailedUntilAnotherBegins() throws {
        note(.current, status: "running")
        #expect(publisher.core.runningSessions(at: publisher.now) == ["s1"])
        let whole = publisher.push(message(0, 0..<5))
        #expect(publisher.pushAnswers[whole] == .accepted(next: nil))
        note(.failure, status: "failed", reason: "the disk is full")
        #expect(publisher.core.runningSessions(at: publisher.now).isEmpty)
        let lost = publisher.push(message(1, 5..<10))
        guard case .unstored(let sentence) = try #require(publisher.pushAnswers[lost]) else {
            Issue.record("the person is told nothing")
            return
        }
        #expect(sentence.contains("the disk is full"))
        let published = sequences(StreamName(device: "d1", stream: "gyroscope"))
        #expect(published == Array(0..<10), "it is published all the same")
        let again = publisher.push(message(1, 5..<10))
        #expect(publisher.pushAnswers[again] == .unstored(sentence))
        #expect(answer(to: samples(0..<5)) == .accepted(next: 5))
        note(.report, status: "failed")
        #expect(answer(to: message(2, 10..<15)) == .unstored(sentence))
        note(.status, status: "running", session: "s2")
        #expect(answer(to: message(3, 15..<20)) == .accepted(next: nil))
        publisher.run(seconds: 20)
        #expect(publisher.core.runningSessions(at: publisher.now).isEmpty, "a recorder that is silent says nothing")
    }

    @Test func aStreamWhoseLastSampleCameHasEndedAndContinuesWithAnother() throws {
        func state() throws -> StreamDescription.State { try #require(publisher.core.streams.first).state }
        func last(_ range: Range<Int>) -> PushMessage {
            guard case .numbered(var message) = samples(range) else { return samples(range) }
            message.isLast = true
            return .numbered(message)
        }
        _ = publisher.push(samples(0..<10))
        #expect(try state() == .running)
        #expect(answer(to: last(9..<10)) == .accepted(next: 10))
        #expect(try state() == .ended)
        #expect(answer(to: samples(10..<20)) == .accepted(next: 20))
        #expect(try state() == .running)
        #expect(answer(to: last(20..<30)) == .accepted(next: 30))
        #expect(try state() == .ended)
        #expect(sequences() == Array(0..<30))
    }

    @Test func whatIsSentAgainIsIgnored() {
        _ = publisher.push(samples(0..<10))
        let again = publisher.push(samples(0..<10))
        let more = publisher.push(samples(5..<15))
        #expect(publisher.pushAnswers[again] == .accepted(next: 10))
        #expect(publisher.pushAnswers[more] == .accepted(next: 15))
        #expect(sequences() == Array(0..<15))
        #expect(publisher.core.pushedMessages.repeated == 1)
    }

    @Test func messagesInAnotherOrderArePutInOrder() {
        _ = publisher.push(samples(0..<10))
        let late = publisher.push(samples(20..<30))
        #expect(publisher.pushAnswers[late] == nil, "it is answered when it is published")
        let missing = publisher.push(samples(10..<20))
        #expect(publisher.pushAnswers[missing] == .accepted(next: 20))
        #expect(publisher.pushAnswers[late] == .accepted(next: 30))
        #expect(sequences() == Array(0..<30))
    }

    /// Datagrams are not answered, so their sender does not know that the rest is missing.
    @Test func aShorterMessageReplacesNoLongerOne() {
        _ = publisher.push(samples(0..<10))
        let longer = publisher.push(samples(20..<40))
        let shorter = publisher.push(samples(20..<25))
        #expect(answer(to: samples(10..<20)) == .accepted(next: 20))
        for request in [longer, shorter] { #expect(publisher.pushAnswers[request] == .accepted(next: 40)) }
        #expect(sequences() == Array(0..<40))
    }

    @Test func repetitionsDoNotDelayAMessageThatWaits() {
        _ = publisher.push(samples(0..<10))
        let first = publisher.push(samples(20..<30))
        publisher.run(seconds: 2)
        let again = publisher.push(samples(20..<30))
        #expect(publisher.pushAnswers[first] == .wanted(next: 10))
        publisher.run(seconds: 2)
        #expect(publisher.pushAnswers[again] == .accepted(next: 30))
        #expect(sequences() == Array(0..<10) + Array(20..<30))
    }

    /// The client does not report which samples it still has, so the run begins with the first that arrives.
    @Test func whatCameBeforeTheRunBeganIsNotCalledSafe() throws {
        let first = publisher.push(samples(50..<60))
        #expect(publisher.pushAnswers[first] == .accepted(next: 60))
        let overtaken = publisher.push(samples(40..<50))
        guard case .refused(let refusal) = publisher.pushAnswers[overtaken] else { throw Unexpected() }
        #expect(refusal.kind == .tooLate)
        let again = publisher.push(samples(50..<60))
        #expect(publisher.pushAnswers[again] == .accepted(next: 60))
        #expect(sequences() == Array(50..<60))
    }

    @Test func aMessageThatBeginsBeforeTheRunIsRefusedAsAWhole() throws {
        _ = publisher.push(samples(50..<60))
        guard case .refused(let refusal) = answer(to: samples(40..<65)) else { throw Unexpected() }
        #expect(refusal.kind == .tooLate)
        #expect(refusal.next == 50)
        #expect(sequences() == Array(50..<60))
        #expect(answer(to: samples(60..<65)) == .accepted(next: 65))
        #expect(sequences() == Array(50..<65))
    }

    @Test func whatDoesNotComeIsAGapThatNobodyIsAskedForInVain() throws {
        _ = publisher.push(samples(0..<10))
        let late = publisher.push(samples(20..<30))
        publisher.run(seconds: 4)
        #expect(publisher.pushAnswers[late] == .accepted(next: 30))
        #expect(sequences() == Array(0..<10) + Array(20..<30))
        let request = SamplesReplay(device: "m5", stream: "accelerometer", epoch: "run1@0", from: 10, count: 10)
        let error = #expect(throws: RequestError.self) { try publisher.replay(request) }
        #expect(error?.data?.reason == "notInSource")
        var refusals = ReplayRefusals()
        refusals.note(error, at: "here", of: "here")
        #expect(refusals.verdict(asking: ["here"]) == .notInSource)
    }

    @Test func aClientThatHasOlderSamplesIsAskedForThem() {
        let first = publisher.push(samples(40..<50, oldest: 30))
        #expect(publisher.pushAnswers[first] == .wanted(next: 30))
        #expect(sequences().isEmpty)
        let second = publisher.push(samples(30..<50, oldest: 30))
        #expect(publisher.pushAnswers[second] == .accepted(next: 50))
        let third = publisher.push(samples(60..<70, oldest: 45))
        #expect(publisher.pushAnswers[third] == .wanted(next: 50))
        let lossy = publisher.push(samples(80..<90, oldest: 80))
        #expect(publisher.pushAnswers[lossy] == .accepted(next: 90))
        #expect(sequences() == Array(30..<50) + Array(80..<90))
    }

    @Test func anotherEpochCountsAnewAndTheFormerIsStillKept() throws {
        _ = publisher.push(samples(0..<10))
        let other = publisher.push(samples(0..<5, epoch: "run2"))
        #expect(publisher.pushAnswers[other] == .accepted(next: 5))
        #expect(publisher.epochs[name]?.mapValues { $0.map(\.count) } == ["run1@0": [10], "run2@0": [5]])
        for (epoch, count) in [("run1@0", 10), ("run2@0", 5)] {
            let replay = try publisher.replay(
                SamplesReplay(device: "m5", stream: "accelerometer", epoch: epoch, from: 0, count: 10))
            #expect(replay.reply.count == count)
        }
        let late = publisher.push(samples(10..<20))
        guard case .refused(let refusal) = publisher.pushAnswers[late] else { throw Unexpected() }
        #expect(refusal.kind == .tooLate)
    }

    @Test func withoutAnEpochARestartIsToldFromARepetition() {
        _ = publisher.push(samples(0..<10, epoch: nil))
        let again = publisher.push(samples(0..<12, epoch: nil))
        #expect(publisher.pushAnswers[again] == .accepted(next: 12))
        #expect(publisher.epochs[name]?.count == 1)
        let restarted = publisher.push(samples(0..<3, epoch: nil, start: 100))
        #expect(publisher.pushAnswers[restarted] == .accepted(next: 3))
        #expect(publisher.epochs[name]?.count == 2)
    }

    @Test func withoutAnEpochASampleThatWasOvertakenIsNoRestart() throws {
        _ = publisher.push(samples(1..<2, epoch: nil))
        guard case .refused(let refusal) = answer(to: samples(0..<1, epoch: nil)) else { throw Unexpected() }
        #expect(refusal.kind == .tooLate)
        #expect(answer(to: samples(2..<3, epoch: nil)) == .accepted(next: 3))
        #expect(publisher.epochs[name]?.count == 1)
        #expect(sequences() == [1, 2])
        publisher.run(seconds: 4)
        #expect(answer(to: samples(0..<1, epoch: nil)) == .accepted(next: 1))
        #expect(publisher.epochs[name]?.count == 2, "the device has restarted")
    }

    @Test func missingSamplesBeforeManyMessagesAreGivenUpAtOnce() {
        _ = publisher.push(samples(0..<1))
        for number in 2..<40 { _ = publisher.push(samples(number..<number + 1)) }
        #expect(sequences() == Array(0..<1) + Array(2..<40))
    }

    @Test func datesAreBelievedAndOtherClocksBeginWithTheirArrival() throws {
        let now = publisher.now
        let date = Double(now.date.nanosecondsSince1970) / 1e9 - 20
        _ = publisher.push(samples(0..<2, start: date, of: StreamName(device: "dated", stream: "a")))
        _ = publisher.push(samples(0..<2, start: 1_000, of: StreamName(device: "undated", stream: "a")))
        _ = publisher.push(samples(0..<2, start: date - 1e7, of: StreamName(device: "wrong", stream: "a")))
        func uptimes(_ device: String) -> [Double] {
            batches(StreamName(device: device, stream: "a")).flatMap { [$0.rows[0], $0.rows[2]] }
        }
        let uptime = Double(now.monotonic) / 1e9
        #expect(abs(uptimes("dated")[0] - (uptime - 20)) < 1e-6)
        for device in ["undated", "wrong"] {
            #expect(abs(uptimes(device)[1] - uptime) < 1e-6)
            #expect(abs(uptimes(device)[1] - uptimes(device)[0] - 0.02) < 1e-6)
        }
    }

    /// - Parameter times: in seconds of the device's clock.
    private func message(
        _ first: Int, at times: [Double], sentAt: Double? = nil, of name: StreamName? = nil
    ) -> PushMessage {
        var rows = PushedRows(fields: ["x"])
        for time in times { rows.append([time], time: Int64(time * 1e9)) }
        return .numbered(
            NumberedSamples(
                name ?? self.name, epoch: "run1", first: first, sentAt: sentAt.map { Int64($0 * 1e9) }, rows: rows))
    }

    private func push(_ first: Int, at times: [Double], sentAt: Double? = nil, of name: StreamName? = nil) {
        let answer = answer(to: message(first, at: times, sentAt: sentAt, of: name))
        #expect(answer == .accepted(next: first + times.count))
    }

    /// How far the latest sample's uptime is ahead of this machine's, in seconds.
    private func lead(of name: StreamName? = nil) -> Double {
        (column(0, of: name ?? self.name).last ?? .nan) - Double(publisher.now.monotonic) / 1e9
    }

    @Test func aFirstMessageThatWasSentLongAgoDoesNotMakeLaterOnesLate() {
        let date = Double(publisher.now.date.nanosecondsSince1970) / 1e9
        let other = StreamName(device: "m5", stream: "gyroscope")
        push(0, at: [date - 601, date - 600.5], sentAt: date - 600)
        push(0, at: [date - 600.5], sentAt: date - 600, of: other)
        push(2, at: [date - 0.5, date - 0.25], sentAt: date)
        #expect(abs(lead() + 0.25) < 1e-5)
        push(1, at: [date - 0.125], of: other)
        #expect(abs(lead(of: other) + 0.125) < 1e-5, "the device's streams have one clock")
        publisher.run(seconds: 1)
        push(4, at: [date + 0.75])
        #expect(abs(lead() + 0.25) < 1e-5)
    }

    @Test func aWrongDateMovesNoOtherSamples() {
        let date = Double(publisher.now.date.nanosecondsSince1970) / 1e9
        push(0, at: [date])
        push(1, at: [date + 3_600])
        push(2, at: [date + 0.5])
        #expect(abs(lead() - 0.5) < 1e-5)
    }

    /// - Parameter seconds: how far this machine's clock is ahead when the device's first dates arrive.
    @Test(arguments: [3_600, -30] as [Int64])
    func datesFollowACorrectionOfThisMachinesClock(by seconds: Int64) {
        publisher.run(seconds: 7_200)
        let now = publisher.now.date
        let date = Double(now.nanosecondsSince1970) / 1e9
        publisher.now.date = now.adding(seconds * Self.second)
        push(0, at: [date])
        #expect(abs(lead() + Double(seconds)) < 1e-5)
        publisher.now.date = now
        publisher.run(seconds: 1)
        push(1, at: [date + 1])
        #expect(abs(lead()) < 1e-5)
    }

    @Test(arguments: [3_600, -30] as [Int64])
    func settingThisMachinesClockWrongMovesNoSamples(by seconds: Int64) {
        publisher.run(seconds: 7_200)
        let date = Double(publisher.now.date.nanosecondsSince1970) / 1e9
        push(0, at: [date])
        publisher.now.date = publisher.now.date.adding(seconds * Self.second)
        publisher.run(seconds: 1)
        push(1, at: [date + 1])
        #expect(abs(lead()) < 1e-5)
    }

    /// The device kept samples while this program was away, and sends them all at once.
    @Test func keptSamplesWithoutDatesDoNotMakeLaterOnesLate() {
        for second in 0..<300 { push(second, at: [1_000 + Double(second)]) }
        publisher.run(seconds: 1)
        push(300, at: [1_300])
        #expect(abs(lead()) < 2.001)
    }

    /// A counter of microseconds with 32 bits wraps after 71 minutes. A sample from before may arrive later.
    @Test func aClockWhoseCounterWrapsIsPairedAnew() {
        let gyroscope = StreamName(device: "m5", stream: "gyroscope")
        let end = 4_294.967_296
        let start = Double(publisher.now.monotonic) / 1e9
        push(0, at: [end - 1])
        push(0, at: [end - 1], of: gyroscope)
        publisher.run(seconds: 1.25)
        for _ in 0..<2 { push(1, at: [end - 0.5, end - 0.25, 0.25]) }
        push(1, at: [end - 0.5], of: gyroscope)
        push(2, at: [0.25], of: gyroscope)
        publisher.run(seconds: 1)
        push(4, at: [1.25])
        push(3, at: [1.25], of: gyroscope)
        func uptimes(_ name: StreamName) -> [Double] {
            column(0, of: name).map { (($0 - start) * 1_000).rounded() / 1_000 }
        }
        #expect(uptimes(name) == [0, 0.5, 0.75, 1.25, 2.25])
        #expect(uptimes(gyroscope) == [0, 0.5, 1.25, 2.25])
    }

    @Test func aClockThatBeginsInAMessageThatWaitedIsThatOfItsArrival() {
        push(0, at: [100])
        publisher.run(seconds: 1)
        _ = publisher.push(message(2, at: [0.25]))
        publisher.run(seconds: 1.5)
        push(1, at: [100.5])
        #expect(abs(lead() + 1.5) < 1e-5)
    }

    @Test func aWrongTimeFarAheadMovesOtherStreamsOnlyUntilItsStreamContinues() {
        let gyroscope = StreamName(device: "m5", stream: "gyroscope")
        push(0, at: [100])
        push(0, at: [100], of: gyroscope)
        publisher.run(seconds: 1)
        push(1, at: [1e9])
        push(2, at: [101])
        push(1, at: [101], of: gyroscope)
        for stream in [name, gyroscope] { #expect(abs(lead(of: stream)) < 1e-5) }
        publisher.run(seconds: 1)
        push(2, at: [101.5, 102], of: gyroscope)
        #expect(abs(lead(of: gyroscope)) < 1e-5)
    }

    @Test func aConfiguredStreamIsNotPushedTo() throws {
        let configuration = try StreamConfiguration(device: "m5", stream: "accelerometer", source: .signal("sine"))
        let publisher = try VirtualPublisher([configuration], sources: [try configuration.openSource()])
        publisher.begin()
        let request = publisher.push(samples(0..<10))
        guard case .refused(let refusal) = publisher.pushAnswers[request] else { throw Unexpected() }
        #expect(refusal.kind == .conflict)
    }

    @Test func aStoppedStreamTakesNothingUntilItIsStarted() throws {
        _ = publisher.push(samples(0..<10))
        #expect(try publisher.descriptions(publisher.stop(name)).first?.state == .stopped)
        let refused = publisher.push(samples(10..<20))
        guard case .refused(let refusal) = publisher.pushAnswers[refused] else { throw Unexpected() }
        #expect(refusal.kind == .conflict)
        #expect(try publisher.descriptions(publisher.start(name)).first?.state == .running)
        let taken = publisher.push(samples(10..<20))
        #expect(publisher.pushAnswers[taken] == .accepted(next: 20))
        #expect(sequences() == Array(0..<20))
    }

    @Test func aStreamWhoseClientIsSilentEndsAndGoesOn() throws {
        _ = publisher.push(samples(0..<10))
        publisher.run(seconds: 602)
        #expect(try publisher.descriptions(publisher.list()).map(\.state) == [.ended])
        let next = publisher.push(samples(10..<20))
        #expect(publisher.pushAnswers[next] == .accepted(next: 20))
        #expect(try publisher.descriptions(publisher.list()).map(\.state) == [.running])
    }

    @Test func batchesOfTenSecondsAreNoSilence() throws {
        for batch in 0..<6 {
            _ = publisher.push(samples(batch * 500..<batch * 500 + 500))
            for _ in 0..<9 {
                publisher.run(seconds: 1)
                let description = try #require(publisher.heard[0].descriptions.last)
                let last = try #require(description.lastSample)
                #expect(description.clock.uptime - last < 0.001)
            }
            publisher.run(seconds: 1)
        }
        publisher.run(seconds: 30)
        let description = try #require(publisher.heard[0].descriptions.last)
        let last = try #require(description.lastSample)
        #expect(description.clock.uptime - last > 25)
    }

    @Test func tenThousandNamesAreRefusedUntilSomeHaveEnded() throws {
        var refused = 0
        for number in 0..<10_000 {
            let request = publisher.push(samples(0..<1, of: StreamName(device: "d\(number)", stream: "a")))
            if case .refused(let refusal) = publisher.pushAnswers[request] {
                #expect(refusal.kind == .tooMany)
                refused += 1
            }
        }
        #expect(refused == 10_000 - 4_096)
        #expect(publisher.core.streams.count == 4_096)
        publisher.pass(to: publisher.now.monotonic + 601 * Self.second)
        publisher.run(seconds: 2)
        let request = publisher.push(samples(0..<1))
        #expect(publisher.pushAnswers[request] == .accepted(next: 1))
        #expect(publisher.core.streams.count == 4_096)
        #expect(publisher.core.streams.enumerated().allSatisfy { $0.element.index == $0.offset })
    }

    /// Makes all streams free space, including streams that have ended.
    private func makeRoom(by publisher: VirtualPublisher) {
        publisher.pass(to: publisher.now.monotonic + 601 * Self.second)
        publisher.run(seconds: 2)
        for number in 0..<4_096 {
            _ = publisher.push(samples(0..<1, of: StreamName(device: "d\(number)", stream: "a")))
        }
        publisher.pass(to: publisher.now.monotonic + 601 * Self.second)
        publisher.run(seconds: 2)
    }

    @Test func aStreamThatMadeRoomAndIsNumberedHereBeginsAnotherEpoch() throws {
        let unnumbered = StreamName(device: "p1", stream: "a")
        func send(_ range: Range<Int>) throws {
            var rows = PushedRows(fields: ["x"])
            let date = publisher.now.date.nanosecondsSince1970
            for number in range { rows.append([Double(number)], time: date + Int64(number - range.upperBound)) }
            let part = UnnumberedSamples.Part(stream: "a", unit: nil, description: "", clock: .date, rows: rows)
            _ = publisher.push(.unnumbered(try UnnumberedSamples(device: "p1", parts: [part])))
        }
        _ = publisher.push(message(0, 0..<10))
        try send(0..<10)
        makeRoom(by: publisher)
        #expect(!publisher.core.streams.contains { [gyroscope, unnumbered].contains($0.name) })
        let back = publisher.push(message(1, 10..<20))
        #expect(publisher.pushAnswers[back] == .accepted(next: nil))
        _ = publisher.push(message(2, 20..<30))
        try send(10..<20)
        for (name, count) in [(gyroscope, 20), (unnumbered, 10)] {
            let epochs = try #require(publisher.epochs[name])
            #expect(epochs.count == 2)
            #expect(epochs["one"]?.map(\.firstSequence) == [0])
            let batches = try #require(epochs.first { $0.key != "one" }).value
            #expect(batches.first?.firstSequence == 0)
            #expect(batches.reduce(0) { $0 + $1.count } == count)
        }
    }

    @Test func aStreamThatMadeRoomAndIsNumberedByItsClientContinues() throws {
        let publisher = try VirtualPublisher([], sources: [], retention: 7_200 * Self.second)
        publisher.begin()
        _ = publisher.push(samples(0..<5, epoch: "run0"))
        _ = publisher.push(samples(0..<10))
        makeRoom(by: publisher)
        #expect(!publisher.core.streams.contains { $0.name == name })
        let former = publisher.push(samples(5..<10, epoch: "run0"))
        guard case .refused(let refusal) = publisher.pushAnswers[former] else { throw Unexpected() }
        #expect(refusal.kind == .tooLate)
        let back = publisher.push(samples(10..<20))
        #expect(publisher.pushAnswers[back] == .accepted(next: 20))
        #expect(publisher.epochs[name]?["run1@0"]?.map(\.firstSequence) == [0, 10])
        for from in [0, 10] {
            let replay = try publisher.replay(
                SamplesReplay(device: "m5", stream: "accelerometer", epoch: "run1@0", from: from, count: 10))
            #expect(replay.reply.count == 10)
        }
    }

    @Test func theEndRefusesWhatWaits() throws {
        _ = publisher.push(samples(0..<10))
        let waiting = publisher.push(samples(20..<30))
        publisher.finish()
        guard case .refused(let refusal) = publisher.pushAnswers[waiting] else { throw Unexpected() }
        #expect(refusal.kind == .stopping)
        #expect(publisher.isFinished)
    }

    @Test func withoutAStreamTheEndComesAtOnce() {
        publisher.finish()
        #expect(publisher.isFinished)
    }

    // MARK: Sensor Logger

    private let gyroscope = StreamName(device: "d1", stream: "gyroscope")

    @Test func messagesOfSensorLoggerArePutInOrderAndRepetitionsIgnored() {
        let first = publisher.push(message(1, 10..<20))
        #expect(publisher.pushAnswers[first] == nil)
        let zeroth = publisher.push(message(0, 0..<10))
        let again = publisher.push(message(1, 10..<20))
        for request in [first, zeroth, again] { #expect(publisher.pushAnswers[request] == .accepted(next: nil)) }
        #expect(column(1, of: gyroscope) == (0..<20).map(Double.init))
        #expect(sequences(gyroscope) == Array(0..<20))
    }

    @Test func aMessageThatIsMissingIsAGapOfAboutItsLength() throws {
        _ = publisher.push(message(0, 0..<50))
        let next = publisher.push(message(2, 100..<150))
        publisher.run(seconds: 4)
        #expect(publisher.pushAnswers[next] == .accepted(next: nil))
        #expect(sequences(gyroscope) == Array(0..<50) + Array(100..<150))
        let request = SamplesReplay(device: "d1", stream: "gyroscope", epoch: "one", from: 50, count: 50)
        let error = #expect(throws: RequestError.self) { try publisher.replay(request) }
        #expect(error?.data?.reason == "estimated")
        let late = publisher.push(message(1, 50..<100))
        guard case .refused(let refusal) = publisher.pushAnswers[late] else { throw Unexpected() }
        #expect(refusal.kind == .tooLate)
    }

    @Test func aPhoneThatWasAwayForLongHasAGapAndRepetitionsAreStillIgnored() throws {
        let first = publisher.now.date.nanosecondsSince1970 / Self.second
        _ = publisher.push(message(0, 0..<50))
        publisher.run(seconds: 3_600)
        let again = publisher.push(message(0, 0..<50))
        #expect(publisher.pushAnswers[again] == .accepted(next: nil))
        let next = publisher.push(message(600, 0..<50))
        let away = Int(publisher.now.date.nanosecondsSince1970 / Self.second - first) * 50
        publisher.run(seconds: 4)
        #expect(publisher.pushAnswers[next] == .accepted(next: nil))
        #expect(sequences(gyroscope) == Array(0..<50) + Array(Int64(away)..<Int64(away) + 50))
        let request = SamplesReplay(device: "d1", stream: "gyroscope", epoch: "one", from: 50, count: away - 50)
        let error = #expect(throws: RequestError.self) { try publisher.replay(request) }
        #expect(error?.data?.reason == "estimated")
        for number in [1, 599] {
            let late = publisher.push(message(number, 0..<50))
            guard case .refused(let refusal) = publisher.pushAnswers[late] else { throw Unexpected() }
            #expect(refusal.kind == .tooLate)
        }
        // Message 601 is missing, a second long. 602 follows it, and was sampled 2 s ago.
        _ = publisher.push(message(602, -100 ..< -50))
        publisher.run(seconds: 4)
        let latest = Array(sequences(gyroscope).suffix(50))
        #expect(latest == Array(Int64(away) + 100..<Int64(away) + 150), "the time away is not sampling time")
        #expect(try publisher.descriptions(publisher.list()).map(\.rate) == [50])
    }

    @Test func aStreamWithASampleAMinuteHasARate() throws {
        var rows = PushedRows(fields: ["value"])
        for minute in 0..<3 { rows.append([20.0], time: Int64(minute) * 60 * Self.second) }
        _ = publisher.push(.numbered(NumberedSamples(name, epoch: "run1", first: 0, rows: rows)))
        #expect(try publisher.descriptions(publisher.list()).map(\.rate) == [0.0167])
    }

    @Test func whatAPhoneKeptWhileItWasAwayIsTaken() {
        _ = publisher.push(message(0, 0..<50))
        publisher.run(seconds: 3_600)
        let later = publisher.push(message(2, 100..<150))
        let missing = publisher.push(message(1, 50..<100))
        for request in [later, missing] { #expect(publisher.pushAnswers[request] == .accepted(next: nil)) }
        #expect(sequences(gyroscope) == Array(0..<150))
    }

    @Test func aSessionThatThisProgramDidNotSeeBeginIsTakenAfterAWhile() {
        let request = publisher.push(message(57, 0..<10))
        publisher.run(seconds: 4)
        #expect(publisher.pushAnswers[request] == .accepted(next: nil))
        #expect(sequences(gyroscope) == Array(0..<10))
    }

    @Test func anotherSessionOfThePhoneContinuesTheStream() {
        _ = publisher.push(message(0, 0..<10))
        _ = publisher.push(message(0, 0..<10, session: "t"))
        #expect(sequences(gyroscope) == Array(0..<20))
    }

    @Test func aFirstMessageWithoutReadingsSaysNothingOfTheClock() {
        let empty = publisher.push(
            .sensorLogger(SensorLoggerMessage(number: 0, session: "s", device: "d1", readings: [])))
        #expect(publisher.pushAnswers[empty] == .accepted(next: nil))
        _ = publisher.push(message(1, 0..<10))
        let uptime = Double(publisher.now.monotonic) / 1e9
        #expect(column(0, of: gyroscope).allSatisfy { abs($0 - uptime) < 2 })
    }

    /// A cached position may be days old.
    @Test func anOldReadingInTheFirstMessageSaysNothingOfTheClock() {
        let date = publisher.now.date.nanosecondsSince1970
        let readings = [("location", date - 172_800 * Self.second), ("gyroscope", date)].map { sensor, time in
            var rows = PushedRows(fields: ["x"])
            rows.append([1.0], time: time)
            return SensorLoggerMessage.Readings(sensor: sensor, rows: rows)
        }
        let message = SensorLoggerMessage(number: 0, session: "s", device: "d1", readings: readings)
        #expect(answer(to: .sensorLogger(message)) == .accepted(next: nil))
        let uptime = Double(publisher.now.monotonic) / 1e9
        #expect(column(0, of: gyroscope).map { abs($0 - uptime) < 2 } == [true])
    }

    @Test func nanosecondsStay() {
        _ = publisher.push(message(0, 0..<3))
        let uptimes = column(0, of: gyroscope)
        let pauses = zip(uptimes, uptimes.dropFirst()).map { Int64((($1 - $0) * 1e9).rounded()) }
        #expect(pauses == [20_000_000, 20_000_000])
    }

    private func battery(_ number: Int, _ record: String, _ fields: [String]) -> PushMessage {
        var rows = PushedRows(fields: fields, types: fields.map { _ in .json })
        rows.append(record: Array(record.utf8), time: publisher.now.date.nanosecondsSince1970)
        return .sensorLogger(
            SensorLoggerMessage(
                number: number, session: "s", device: "d1",
                readings: [SensorLoggerMessage.Readings(sensor: "battery", rows: rows)]))
    }

    /// The former run is forgotten up to a second after its last sample.
    @Test func aFormerRunWithoutSamplesHidesNoneOfTheNext() throws {
        _ = publisher.push(battery(0, "1", ["a"]))
        publisher.pass(to: publisher.now.monotonic + 300 * Self.second)
        _ = publisher.push(battery(1, "1,2", ["a", "b"]))
        publisher.pass(to: publisher.now.monotonic + 301 * Self.second)
        _ = publisher.push(battery(2, "3,4", ["a", "b"]))
        let reply = try publisher.replay(
            SamplesReplay(device: "d1", stream: "battery", epoch: "one", from: 0, count: 10)
        ).reply
        #expect(reply.from == 1)
        #expect(reply.count == 2)
        _ = publisher.push(battery(3, "5,6,7", ["a", "b", "c"]))
        let next = try publisher.replay(
            SamplesReplay(device: "d1", stream: "battery", epoch: "one", from: 0, count: 10)
        ).reply
        #expect(next.from == 1, "the run that the last fields ended")
        #expect(next.count == 2)
    }

    @Test func aSensorWithOtherFieldsContinuesItsNumbers() throws {
        _ = publisher.push(battery(0, "1", ["a"]))
        _ = publisher.push(battery(1, "1,2", ["a", "b"]))
        let name = StreamName(device: "d1", stream: "battery")
        #expect(sequences(name) == [0, 1])
        for (from, fields) in [(0, ["uptime", "a"]), (1, ["uptime", "a", "b"])] {
            let replay = try publisher.replay(
                SamplesReplay(device: "d1", stream: "battery", epoch: "one", from: from, count: 1))
            #expect(replay.batches.map(\.batch.fields) == [fields])
        }
    }

    @Test func aSensorWhoseFieldsChangeWithinAMessageContinuesItsNumbers() throws {
        let body = #"""
            {"messageId":0,"sessionId":"s","deviceId":"d","payload":[
            {"name":"location","time":1,"values":{"latitude":60.25,"bearing":10}},
            {"name":"location","time":2,"values":{"latitude":60.5,"bearing":null}},
            {"name":"location","time":3,"values":{"latitude":61}}]}
            """#
        let request = publisher.push(.sensorLogger(try SensorLoggerMessage(Array(body.utf8))))
        #expect(publisher.pushAnswers[request] == .accepted(next: nil))
        #expect(sequences(StreamName(device: "d", stream: "location")) == [0, 1, 2])
        let both = ["uptime", "bearing", "latitude"]
        for (from, fields) in [both, both, ["uptime", "latitude"]].enumerated() {
            let replay = try publisher.replay(
                SamplesReplay(device: "d", stream: "location", epoch: "one", from: from, count: 1))
            #expect(replay.batches.map(\.batch.fields) == [fields])
        }
    }

    /// Clients may begin only so many runs, and a session begins a file with each.
    @Test func aValueThatIsSometimesNullBeginsNoRunEachTime() throws {
        let name = StreamName(device: "d", stream: "location")
        var types: [[FieldType]?] = []
        for (number, bearing) in ["10", "null", "11.5", "null", #""north""#, "null"].enumerated() {
            let entry = #"{"name":"location","time":\#(number + 1),"values":{"bearing":\#(bearing),"latitude":60.5}}"#
            let body = #"{"messageId":\#(number),"sessionId":"s","deviceId":"d","payload":[\#(entry)]}"#
            let message = PushMessage.sensorLogger(try SensorLoggerMessage(Array(body.utf8)))
            #expect(answer(to: message) == .accepted(next: nil))
            types += try publisher.descriptions(publisher.list()).map(\.types)
        }
        let numbers: [FieldType]? = [.number, .number, .number]
        let texts: [FieldType]? = [.number, .text, .number]
        #expect(types == [nil, numbers, numbers, numbers, texts, texts])
        #expect(sequences(name) == Array(0..<6))
        let records = batches(name).compactMap(\.records).map { String(decoding: $0.bytes(ofRow: 0), as: UTF8.self) }
        #expect(records == ["null,60.5", "11.5,60.5", "null,60.5", #""north",60.5"#, "null,60.5"])
    }

    @Test func aRefusedMessageMakesNoStream() throws {
        _ = publisher.push(samples(0..<10, of: gyroscope))
        var rows = PushedRows(fields: ["x"])
        rows.append([1.0], time: publisher.now.date.nanosecondsSince1970)
        let readings = [
            SensorLoggerMessage.Readings(sensor: "light", rows: rows),
            SensorLoggerMessage.Readings(sensor: "gyroscope", rows: rows),
        ]
        let message = SensorLoggerMessage(number: 0, session: "s", device: "d1", readings: readings)
        guard case .refused(let refusal) = answer(to: .sensorLogger(message)) else { throw Unexpected() }
        #expect(refusal.kind == .conflict)
        #expect(publisher.core.streams.map(\.name) == [gyroscope])
    }
}

private struct Unexpected: Error {}
