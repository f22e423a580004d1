import Messages
import PublisherCore
import SampleSources
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StreamSamplerTests {
    private let second: Int64 = 1_000_000_000

    private func points(_ times: [Double], batch: Int = 1, speed: Double = 1) throws -> SourcedSampler {
        let points = times.enumerated().map { Point(timestamp: $1, value: Double($0)) }
        return try SourcedSampler(
            source: try PointsSource(fields: ["value"], points: points), batch: batch, speed: speed)
    }

    private func sine(rate: Double, batch: Int = 1, speed: Double = 1) throws -> SourcedSampler {
        let signal = try SignalSpecification.signal("sine:amplitude=2,phase=0.2,offset=0.5")
        return try SourcedSampler(source: try SignalSource(signal, rate: rate), batch: batch, speed: speed)
    }

    @Test func elevenPointsOverASecondFireAtTheirTimes() throws {
        var sampler = try points((0...10).map { Double($0) / 10 })
        try sampler.start(at: 5 * second)
        let samples = sampler.run(until: 7 * second)
        #expect(samples.map(\.takenAt) == (0...10).map { 5 * second + Int64($0) * second / 10 })
        #expect(samples.map(\.values) == (0...10).map { [Double($0)] })
        #expect(samples.map(\.uptime) == (0...10).map { Double(50 + $0) / 10 })
        #expect(sampler.state == .ended)
        #expect(sampler.failure == nil)
    }

    @Test func aSineStoppedAfterASecondHasItsValuesAndNoMore() throws {
        var sampler = try sine(rate: 10)
        try sampler.start(at: 0)
        let samples = sampler.run(until: second)
        #expect(samples.count == 11)
        for (index, sample) in samples.enumerated() {
            #expect(sample.takenAt == Int64(index) * second / 10)
            #expect(
                sample.values
                    == [Double](
                        repeating: Sine(amplitude: 2, phase: 0.2, offset: 0.5).value(at: sample.uptime), count: 3))
        }
        #expect(sampler.stop(at: second) == nil)
        #expect(sampler.state == .stopped)
        #expect(sampler.nextDeadline == nil)
        #expect(sampler.advance(to: 100 * second).isEmpty)
        #expect(sampler.flush(at: 100 * second) == nil)
        #expect(sampler.stop(at: 100 * second) == nil)
    }

    @Test func aSecondStartIsRefused() throws {
        var sampler = try sine(rate: 10)
        try sampler.start(at: 0)
        let error = #expect(throws: PublisherError.self) { try sampler.start(at: 1) }
        #expect(error?.code == .alreadyRunning)
        #expect(sampler.nextDeadline == 0)
    }

    @Test func aRestartBeginsAtTimeZeroAndGoesOnWithTheSequence() throws {
        var sampler = try points([0, 1, 2])
        try sampler.start(at: 10 * second)
        #expect(sampler.advance(to: 11 * second).map(\.firstSequence) == [0, 1])
        #expect(sampler.stop(at: 11 * second) == nil)
        try sampler.start(at: 20 * second)
        let batches = sampler.advance(to: 30 * second)
        #expect(batches.map(\.firstSequence) == [2, 3, 4])
        #expect(batches.map { $0.rows } == [[20, 0], [21, 1], [22, 2]])
        #expect(sampler.state == .ended)
        try sampler.start(at: 40 * second)
        #expect(sampler.state == .running)
        #expect(sampler.nextSequence == 5)
    }

    @Test func aBatchIsCompleteWhenItsLastSampleIsDue() throws {
        var sampler = try sine(rate: 100, batch: 10)
        try sampler.start(at: 0)
        #expect(sampler.nextDeadline == 90_000_000)
        #expect(sampler.advance(to: 89_999_999).isEmpty)
        let completed = sampler.advance(to: 90_000_500).first
        let batch = try #require(completed)
        #expect(batch.count == 10)
        #expect(batch.columns == 4)
        #expect(batch.lateness == 500)
        #expect(sampler.nextDeadline == 190_000_000)
    }

    @Test func flushGivesWhatIsDueAndTheRestFollowsOnce() throws {
        var sampler = try sine(rate: 100, batch: 10)
        try sampler.start(at: 0)
        let flushed = sampler.flush(at: 30_000_000)
        let part = try #require(flushed)
        #expect(part.firstSequence == 0)
        #expect(part.count == 4)
        #expect(sampler.flush(at: 39_999_999) == nil)
        let completed = sampler.advance(to: 90_000_000).first
        let rest = try #require(completed)
        #expect(rest.firstSequence == 4)
        #expect(rest.count == 6)
        #expect(
            (part.rows + rest.rows).enumerated().filter { $0.offset % 4 == 0 }.map(\.element)
                == (0..<10).map { Double($0) / 100 })
        let stopped = sampler.stop(at: 115_000_000)
        let last = try #require(stopped)
        #expect(last.firstSequence == 10)
        #expect(last.count == 2)
        #expect(sampler.nextSequence == 12)
    }

    @Test func aFlushOfTheWholeBatchLeavesNothingToAdvance() throws {
        var sampler = try points([0, 0.1], batch: 2)
        try sampler.start(at: 0)
        #expect(sampler.flush(at: second)?.count == 2)
        #expect(sampler.advance(to: second).isEmpty)
        #expect(sampler.state == .ended)
    }

    @Test func whatIsLateComesAtOnceInOrderAndWhole() throws {
        var sampler = try sine(rate: 100, batch: 7)
        try sampler.start(at: 0)
        var sequence: Int64 = 0
        var calls = 0
        let now = 3600 * second
        while let deadline = sampler.nextDeadline, deadline <= now {
            let batches = sampler.advance(to: now, limit: 1000)
            calls += 1
            #expect(batches.reduce(0) { $0 + $1.count } <= 1000 + 7)
            for batch in batches {
                #expect(batch.firstSequence == sequence)
                #expect(batch.count == 7)
                sequence += Int64(batch.count)
            }
        }
        #expect(calls > 300)
        #expect(sequence == 360_001 / 7 * 7)
    }

    @Test func nothingDriftsOverADayOfLateCalls() throws {
        var sampler = try sine(rate: 10, batch: 10)
        let start: Int64 = 123_456_789
        try sampler.start(at: start)
        var generator = SplitMix(seed: 1)
        var sequence: Int64 = 0
        while let deadline = sampler.nextDeadline, deadline <= start + 86400 * second {
            // The caller is up to 5 ms late each time, which must not add up.
            for batch in sampler.advance(to: deadline + Int64.random(in: 0...5_000_000, using: &generator)) {
                #expect(batch.firstSequence == sequence)
                sequence += Int64(batch.count)
                #expect(deadline == start + (sequence - 1) * 100_000_000)
                #expect(batch.rows[0] == Double(start + (sequence - 10) * 100_000_000) / 1e9)
            }
        }
        #expect(sequence == 864_000)
    }

    @Test func speedMovesTheDeadlinesAndNotTheTimes() throws {
        var sampler = try points([0, 1, 2.5], speed: 50)
        try sampler.start(at: 8 * second)
        let samples = sampler.run(until: .max)
        #expect(samples.map(\.takenAt) == [8 * second, 8 * second + second / 50, 8 * second + second / 20])
        #expect(samples.map(\.uptime) == [8, 9, 10.5])
    }

    @Test func pointsOutOfOrderComeAtOnceInTheArraysOrder() throws {
        var sampler = try points([0, 2, 1, -5, 3])
        try sampler.start(at: 0)
        let samples = sampler.run(until: .max)
        #expect(samples.map { $0.values[0] } == [0, 1, 2, 3, 4])
        #expect(samples.map(\.takenAt) == [0, 2, 2, 2, 3].map { $0 * second })
        #expect(samples.map(\.uptime) == [0, 2, 1, -5, 3])
    }

    @Test func aSampleThatFollowsALaterOneIsNotLate() throws {
        var sampler = try points([0, 2, 1, 3])
        try sampler.start(at: 0)
        _ = sampler.advance(to: 0)
        #expect(sampler.advance(to: 2 * second).map(\.lateness) == [0, 0])
        #expect(sampler.lastSample(at: 2 * second) == 2 * second)
    }

    @Test func aBatchWaitsForItsLatestPointAndNotOnlyItsLast() throws {
        var sampler = try points([0, 2, 1], batch: 3)
        try sampler.start(at: 0)
        #expect(sampler.nextDeadline == 2 * second)
        #expect(sampler.flush(at: second)?.count == 1)
    }

    @Test func anEmptySourceEndsAtOnce() throws {
        var sampler = try points([])
        try sampler.start(at: 7)
        #expect(sampler.nextDeadline == 7)
        #expect(sampler.advance(to: 7).isEmpty)
        #expect(sampler.state == .ended)
        #expect(sampler.nextDeadline == nil)
    }

    @Test func theLastBatchMayBePartial() throws {
        var sampler = try points([0, 1, 2, 3, 4], batch: 3)
        try sampler.start(at: 0)
        #expect(sampler.advance(to: 4 * second).map(\.count) == [3, 2])
        #expect(sampler.state == .ended)
        #expect(sampler.nextSequence == 5)
    }

    @Test func aSourceThatFailsEndsAfterWhatItGave() throws {
        try withFile("bad.csv", "t,x\n0,1\n1,2\n" + (2..<80).map { "\($0),\($0)\n" }.joined() + "80,oops\n81,1\n") {
            path in
            var sampler = try SourcedSampler(source: try ReplaySource(path: path), batch: 50)
            try sampler.start(at: 0)
            #expect(sampler.advance(to: 1000 * second).map(\.count) == [50, 30])
            #expect(sampler.state == .ended)
            #expect(sampler.failure?.message.contains("line 82: x: \"oops\" is not a number") == true)
        }
    }

    @Test func aFailureIsToldWhenTheSamplesBeforeItAreDueAndNotEarlier() throws {
        try withFile("bad.csv", "t,x\n" + (0..<70).map { "\($0),\($0)\n" }.joined() + "70,oops\n") { path in
            var sampler = try SourcedSampler(source: try ReplaySource(path: path), batch: 100)
            try sampler.start(at: 0)
            #expect(sampler.flush(at: 68 * second)?.count == 69)
            #expect(sampler.failure == nil, "the broken line was read ahead, but its time has not come")
            #expect(sampler.state == .running)
            #expect(sampler.nextDeadline == 69 * second)
            #expect(sampler.advance(to: 69 * second).map(\.count) == [1])
            #expect(sampler.state == .ended)
            #expect(sampler.failure?.message.contains("oops") == true)
            try sampler.start(at: 100 * second)
            #expect(sampler.failure == nil)
        }
    }

    @Test func aStreamStoppedBeforeItsSourceBreaksWasStopped() throws {
        try withFile("bad.csv", "t,x\n" + (0..<70).map { "\($0),\($0)\n" }.joined() + "70,oops\n") { path in
            var sampler = try SourcedSampler(source: try ReplaySource(path: path), batch: 100)
            try sampler.start(at: 0)
            #expect(sampler.stop(at: 5 * second)?.count == 6)
            #expect(sampler.state == .stopped)
            #expect(sampler.failure == nil)
        }
    }

    @Test func theLastSampleIsTheLatestThatWasDueAlsoIfItWaits() throws {
        var sampler = try points([0, 1, 60, 61], batch: 3)
        #expect(sampler.lastSample(at: 0) == nil)
        try sampler.start(at: 10 * second)
        #expect(sampler.lastSample(at: 9 * second) == nil)
        #expect(sampler.lastSample(at: 10 * second) == 10 * second)
        #expect(sampler.lastSample(at: 40 * second) == 11 * second, "the source is silent for 59 s")
        #expect(sampler.advance(to: 70 * second).map(\.count) == [3])
        #expect(sampler.lastSample(at: 70 * second) == 70 * second)
        #expect(sampler.stop(at: 70 * second) == nil)
        #expect(sampler.lastSample(at: 90 * second) == 70 * second)
    }

    @Test(arguments: [0, -1, 100_001]) func anImpossibleBatchIsRefused(batch: Int) {
        #expect(throws: PublisherError.self) { try points([0], batch: batch) }
    }

    @Test(arguments: [0, -1, .nan, .infinity]) func anImpossibleSpeedIsRefused(speed: Double) {
        #expect(throws: PublisherError.self) { try points([0], speed: speed) }
    }

    @Test func aTinySpeedDoesNotOverflow() throws {
        var sampler = try points([0, 1e9], speed: 1e-300)
        try sampler.start(at: 5)
        #expect(sampler.advance(to: .max / 4).count == 1)
        #expect(try #require(sampler.nextDeadline) > .max / 4)
    }

    @Test func theStepsOfAWalkAreThoseOfTheSamplesGivenOut() throws {
        var sampler = try SourcedSampler(
            source: try SignalSource(try SignalSpecification.signal("walk:cadence=2"), rate: 100), speed: 10)
        #expect(sampler.truth == SignalTruth(steps: 0, cadence: 2))
        try sampler.start(at: second)
        #expect(sampler.truth?.steps == 0)
        _ = sampler.advance(to: 2 * second)
        #expect(sampler.truth?.steps == 19)
        // A second run starts over, and its samples add to the first run's.
        _ = sampler.stop(at: 2 * second)
        #expect(sampler.truth?.steps == 19)
        try sampler.start(at: 5 * second)
        #expect(sampler.truth?.steps == 19)
        _ = sampler.advance(to: 6 * second)
        #expect(sampler.truth?.steps == 38)
        #expect(try points([0]).truth == nil)
    }
}
