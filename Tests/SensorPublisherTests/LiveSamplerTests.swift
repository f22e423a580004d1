import PublisherCore
import SampleSources
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LiveSamplerTests {
    private let second: Int64 = 1_000_000_000

    @Test func samplesKeepTheirOwnDistances() throws {
        var sampler = try LiveSampler(batch: 3)
        try sampler.start()
        let unix = 1_795_219_200 * second
        #expect(sampler.take([1], time: unix, at: 10 * second) == nil)
        #expect(sampler.take([2], time: unix + second / 2, at: 10 * second + 7) == nil)
        let completed = sampler.take([3], time: unix + second, at: 12 * second)
        let batch = try #require(completed)
        #expect(batch.rows == [10, 1, 10.5, 2, 11, 3])
        #expect(batch.firstSequence == 0)
        #expect(sampler.nextSequence == 3)
    }

    @Test func samplesWithoutTimesHaveThoseOfTheirArrival() throws {
        var sampler = try LiveSampler()
        try sampler.start()
        #expect(sampler.take([1, 2], time: nil, at: second / 4)?.rows == [0.25, 1, 2])
    }

    @Test func aTimeIsAheadOfItsArrivalByThePairing() throws {
        var sampler = try LiveSampler()
        try sampler.start()
        #expect(sampler.lead(of: 90 * second, at: 10 * second) == 0, "nothing is paired yet")
        _ = sampler.take([1], time: 90 * second, at: 10 * second)
        #expect(sampler.lead(of: 94 * second, at: 11 * second) == 3 * second)
        #expect(sampler.lead(of: 90 * second, at: 11 * second) == -second)
    }

    @Test func aBatchDoesNotWaitLongerThanItMay() throws {
        var sampler = try LiveSampler(batch: 100, maximumDelay: 50)
        try sampler.start()
        #expect(sampler.nextDeadline == nil)
        #expect(sampler.take([1], time: nil, at: 1000) == nil)
        #expect(sampler.take([1], time: nil, at: 1040) == nil)
        #expect(sampler.nextDeadline == 1050)
        #expect(sampler.advance(to: 1049) == nil)
        #expect(sampler.advance(to: 1050)?.count == 2)
        #expect(sampler.nextDeadline == nil)
    }

    @Test func nothingIsTakenBeforeAStartOrAfterAStop() throws {
        var sampler = try LiveSampler(batch: 2)
        #expect(sampler.take([1], time: 0, at: 0) == nil)
        try sampler.start()
        #expect(throws: PublisherError.self) { try sampler.start() }
        #expect(sampler.take([1], time: 5 * second, at: 0) == nil)
        #expect(sampler.stop(at: 1)?.count == 1)
        #expect(sampler.state == .stopped)
        #expect(sampler.take([1], time: 6 * second, at: 1) == nil)
        #expect(sampler.nextDeadline == nil)
        try sampler.start()
        #expect(sampler.take([1], time: 90 * second, at: 2 * second) == nil)
        let completed = sampler.end(at: 3 * second)
        let batch = try #require(completed)
        #expect(batch.firstSequence == 1)
        #expect(batch.rows == [2, 1])
        #expect(sampler.state == .ended)
    }
}
