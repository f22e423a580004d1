import Messages
import RecorderCore
import Testing

/// Which streams fail, given their descriptions and the time. Pure: the test supplies the time.
struct StreamWatchTests {
    private static let name = StreamName(device: "phone", stream: "accelerometer")

    /// A watch and its time, in seconds since the session's start.
    private struct Course {
        var watch: StreamWatch
        var time = 0.0
        var sequence = 0

        init(earlier: [String] = []) { watch = StreamWatch(earlier: earlier) }

        var now: Int64 { Int64(time * 1e9) }

        mutating func describe(
            _ state: StreamDescription.State = .running, epoch: String = "a", lastSample: Double? = 0,
            rate: Double? = 100, types: [FieldType]? = nil, answered: Double? = nil, reason: String? = nil,
            source: String = "sensor-publisher", isLeftOut: Bool = false
        ) {
            let last = lastSample.map { $0 == 0 ? 1000 + time : 1000 + $0 }
            let remoteClock = answered.map { RemoteClock(offset: 0, roundTrip: 0, uptime: 1000 + $0) }
            watch.take(
                StreamDescription(
                    source: source, sequence: 0, device: "phone", stream: "accelerometer", epoch: epoch, state: state,
                    fields: ["uptime", "x"], types: types, rate: rate, packed: false, nextSequence: sequence,
                    replay: "tcp://r", clock: ClockReading(uptime: 1000 + time, date: .now), reason: reason,
                    lastSample: last, remoteClock: remoteClock),
                at: now, time: time, isLeftOut: isLeftOut)
        }

        mutating func check(isListening: Bool = true) -> [StreamWatch.Finding] {
            watch.check(at: now, time: time, isListening: isListening)
        }

        /// Advances time second by second.
        mutating func pass(
            _ seconds: Int, isListening: Bool = true, _ each: (inout Course) -> Void = { _ in }
        ) -> [StreamWatch.Finding] {
            (0..<seconds).flatMap { _ in
                time += 1
                each(&self)
                return check(isListening: isListening)
            }
        }

        mutating func finish() -> [StreamWatch.Finding] { watch.finish(at: now, time: time) }
    }

    @Test func aStreamThatRunsIsNotFound() {
        var course = Course()
        #expect(course.pass(60) { $0.describe() }.isEmpty)
        #expect(course.finish().isEmpty)
    }

    @Test func aFailureIsFoundOnceWithItsReason() {
        var course = Course()
        _ = course.pass(3) { $0.describe() }
        course.time = 12.34
        course.describe(.failed, reason: "the pipe closed")
        let found = course.check()
        #expect(found.map(\.sentence) == ["phone/accelerometer failed at 12.3 s: the pipe closed"])
        #expect(found.allSatisfy { $0.isNew && $0.isFailure && $0.cause == .failed && $0.stream == Self.name })
        #expect(course.pass(60) { $0.describe(.failed, reason: "the pipe closed") }.isEmpty)
        #expect(course.finish().isEmpty)
    }

    @Test func aFailureThatPassesWithinASecondIsFound() {
        var course = Course()
        course.describe()
        course.describe(.failed)
        course.describe()
        let found = course.check()
        #expect(found.filter(\.isFailure).map(\.sentence) == ["phone/accelerometer failed at 0.0 s"])
        #expect(found.filter(\.isRecovery).count == 1)
        #expect(course.pass(2) { $0.describe(.failed) }.isEmpty, "once per cause")
    }

    @Test func aFailureOfBeforeARestartIsNotFoundAgain() {
        var course = Course(earlier: ["phone/accelerometer failed at 3.0 s: the pipe closed"])
        #expect(course.pass(5) { $0.describe(.failed, reason: "the pipe closed") }.isEmpty)
    }

    @Test func aStopIsFoundAndARegularEndIsNot() {
        var course = Course()
        course.describe()
        #expect(course.pass(60) { $0.describe(.ended, lastSample: 0.5) }.isEmpty)
        #expect(course.pass(60).isEmpty, "its publisher may end too")
        #expect(course.finish().isEmpty)

        course = Course()
        course.describe()
        let found = course.pass(30) { $0.describe(.stopped, lastSample: 0.5) }
        #expect(found.count == 1)
        #expect(found.first?.sentence.hasPrefix("phone/accelerometer stopped at 1.0 s: ") == true)
        #expect(course.pass(30).isEmpty)
    }

    @Test func aStreamThatWasStoppedBeforeTheSessionIsNotFound() {
        var course = Course()
        #expect(course.pass(30) { $0.describe(.stopped, lastSample: nil) }.isEmpty)
    }

    @Test func aStopWithTheSessionIsNotFound() {
        var course = Course()
        course.describe()
        course.describe(.stopped)
        #expect(course.finish().isEmpty)
    }

    @Test func aRestartIsNoStop() {
        var course = Course()
        course.describe()
        course.describe(.stopped)
        course.time += 0.5
        course.describe(epoch: "b")
        #expect(course.pass(30) { $0.describe(epoch: "b") }.isEmpty)
    }

    @Test func silenceOfARunningStreamIsFound() {
        var course = Course()
        course.describe()
        course.time = 1
        let found = course.pass(9) { $0.describe(lastSample: 1) }
        #expect(found.map(\.cause) == [.silent])
        #expect(found.first?.isFailure == true)
        #expect(found.first?.sentence.hasPrefix("phone/accelerometer fell silent at 1.0 s: ") == true)
        let later = course.pass(3) { $0.describe() }
        #expect(later.map(\.isRecovery) == [true])
    }

    @Test func aSlowStreamIsNotSilent() {
        var course = Course()
        course.describe(rate: 0.5)
        #expect(course.pass(39) { $0.describe(lastSample: 0.1, rate: 0.5) }.isEmpty)
        #expect(course.pass(3) { $0.describe(lastSample: 0.1, rate: 0.5) }.map(\.cause) == [.silent])
    }

    @Test func aStreamWithoutARateIsJudgedByItsOwnPace() {
        var course = Course()
        course.describe(rate: nil)
        // One sample every two seconds.
        let found = course.pass(20) { course in
            course.sequence = Int(course.time / 2)
            course.describe(lastSample: Double(course.sequence) * 2 + 0.001, rate: nil)
        }
        #expect(found.isEmpty)
        #expect(course.pass(35) { $0.describe(lastSample: 20, rate: nil) }.isEmpty)
        #expect(course.pass(10) { $0.describe(lastSample: 20, rate: nil) }.map(\.cause) == [.silent])
    }

    /// For example, markers of an experiment: a late one says nothing about the sensor.
    @Test func aStreamWithoutAPaceIsNotSilent() {
        var course = Course()
        #expect(course.pass(30) { $0.describe(lastSample: nil, rate: nil) }.isEmpty)
        // Four at once, then half an hour without any.
        course.sequence = 4
        #expect(course.pass(1800) { $0.describe(lastSample: 30.5, rate: nil) }.isEmpty)
        course.sequence = 20
        #expect(course.pass(1800) { $0.describe(lastSample: 1830.5, rate: nil) }.isEmpty)
    }

    /// An experiment may have a marker each second, and then a break.
    @Test func aStreamOfTextIsSilentWhenNothingHappens() {
        func found(_ types: [FieldType]) -> [StreamWatch.Cause] {
            var course = Course()
            let found = course.pass(20) { course in
                course.sequence += 1
                course.describe(rate: nil, types: types)
            }
            return (found + course.pass(1800) { $0.describe(lastSample: 20, rate: nil, types: types) }).map(\.cause)
        }
        #expect(found([.number, .text]).isEmpty)
        #expect(found([.number, .number]) == [.silent])
        #expect(found([.number, .number, .text]) == [.silent], "a sensor with a text")
    }

    @Test func anOutletOfTextIsSilentWhenItDoesNotAnswer() {
        var course = Course()
        let types: [FieldType] = [.number, .text]
        #expect(course.pass(1800) { $0.describe(lastSample: 1, rate: nil, types: types, answered: $0.time) }.isEmpty)
        #expect(course.pass(39) { $0.describe(lastSample: 1, rate: nil, types: types, answered: 1800) }.isEmpty)
        let found = course.pass(10) { $0.describe(lastSample: 1, rate: nil, types: types, answered: 1800) }
        #expect(found.map(\.cause) == [.silent])
    }

    @Test func whatIsLeftOutDoesNotFail() {
        var course = Course()
        _ = course.pass(2) { $0.describe() }
        // The stream is switched off for a pause, and on again.
        let pause = course.pass(60) { course in
            if course.time < 10 { course.describe(.stopped, isLeftOut: true) }
            if course.time > 50 { course.describe(.running, epoch: "b", lastSample: nil, isLeftOut: true) }
            course.watch.passOver(Self.name)
        }
        #expect(pause.isEmpty)
        #expect(course.pass(30) { $0.describe(epoch: "b") }.isEmpty)

        // The stream is not on again when the pause is over.
        _ = course.pass(60) { $0.watch.passOver(Self.name) }
        #expect(course.pass(11).map(\.cause) == [.unheard])

        course = Course()
        course.describe()
        _ = course.pass(30) { $0.describe(.stopped, isLeftOut: true) }
        #expect(course.pass(30) { $0.describe(.stopped) }.map(\.cause) == [.stopped])
    }

    @Test func aStreamThatNeverHasASampleIsSilent() {
        var course = Course()
        #expect(course.pass(10) { $0.describe(lastSample: nil) }.map(\.cause) == [.silent])
    }

    @Test func aStreamThatWasStoppedIsNotSilentWhenItStarts() {
        var course = Course()
        #expect(course.pass(30) { $0.describe(.stopped, lastSample: nil) }.isEmpty)
        // The sensor's first sample comes two seconds later.
        #expect(course.pass(2) { $0.describe(lastSample: nil) }.isEmpty)
        course.sequence = 100
        #expect(course.pass(3) { $0.describe() }.isEmpty)

        #expect(course.pass(30) { $0.describe(.stopped, lastSample: 35) }.map(\.cause) == [.stopped])
        let found = course.pass(3) { $0.describe(lastSample: 35) }
        #expect(found.map(\.isRecovery) == [true], "it is not stopped any more")
        #expect(course.pass(3) { $0.describe(lastSample: 35) }.map(\.cause) == [.silent], "nothing comes")
    }

    @Test func whatIsOnItsWayToARelayIsNoSilence() {
        var course = Course()
        #expect(course.pass(30) { $0.describe(lastSample: nil, source: "relay") }.isEmpty)
        #expect(course.finish().isEmpty)
    }

    @Test func aPublisherThatSaysNothingOfItsLastSampleIsNotJudgedByIt() {
        var course = Course()
        course.sequence = 7
        #expect(course.pass(60) { $0.describe(lastSample: nil) }.isEmpty)
    }

    @Test func aPublisherThatIsBackWithinTenSecondsHasNotFailed() {
        var course = Course()
        course.describe()
        #expect(course.pass(9).isEmpty)
        #expect(course.pass(20) { $0.describe(epoch: "b") }.isEmpty)
        #expect(course.finish().isEmpty)
    }

    @Test func aPublisherThatDoesNotComeBackHasFailed() {
        var course = Course()
        _ = course.pass(2) { $0.describe() }
        let found = course.pass(30)
        #expect(found.map(\.cause) == [.unheard])
        #expect(found.map(\.isNew) == [true])
        let sentence =
            "phone/accelerometer was not received from 2.0 s on: its publisher is not running or not reachable"
        #expect(course.watch.unheard == [sentence])
        let last = course.finish()
        #expect(last.filter(\.isFailure).map(\.sentence) == [sentence])
        #expect(last.allSatisfy { !$0.isNew })
    }

    @Test func aPublisherThatIsRestartedLateHasFailed() {
        var course = Course()
        _ = course.pass(2) { $0.describe() }
        #expect(course.pass(30).count == 1)
        let found = course.pass(3) { $0.describe(epoch: "b") }
        #expect(found.filter(\.isFailure).map(\.cause) == [.unheard])
        #expect(found.map(\.isRecovery) == [false, true])
        #expect(course.watch.unheard.isEmpty)
        #expect(course.finish().isEmpty)
    }

    @Test func aPublisherThatWasCutOffAndSampledOnHasNotFailed() {
        var course = Course()
        _ = course.pass(2) { $0.describe() }
        #expect(course.pass(30).filter(\.isFailure).isEmpty)
        #expect(course.pass(3) { $0.describe() }.map(\.isRecovery) == [true])
        #expect(course.finish().isEmpty)

        #expect(course.pass(30).filter(\.isFailure).isEmpty)
        course.describe()
        #expect(course.finish().filter(\.isFailure).isEmpty, "it answers when the session stops")
    }

    @Test func samplesAloneAreHeard() {
        var course = Course()
        let found = course.pass(60) { $0.watch.note(samples: Int($0.time), of: Self.name) }
        #expect(found.isEmpty)
        #expect(course.pass(11).map(\.cause) == [.unheard])
    }

    @Test func aRecorderThatDoesNotListenHearsNothing() {
        var course = Course()
        course.describe()
        _ = course.check()
        course.time += 60
        #expect(course.check().isEmpty, "it was stopped itself")
        #expect(course.pass(60, isListening: false).isEmpty)
    }
}
