import TestSupport
import Testing

@testable import StepDetection

@Suite struct SampleClockTests {
    /// The root mean square difference between the clock's times and the true ones, in periods, after the first second.
    private func error(_ stamps: [(stamp: Double, truth: Double)], rate: Double) -> Double {
        var clock = SampleClock()
        let errors = stamps.compactMap { stamp, truth -> Double? in
            guard let time = clock.add(stamp), truth > stamps[0].truth + 1 else { return nil }
            return (time - truth) * rate
        }
        return (errors.reduce(0) { $0 + $1 * $1 } / Double(errors.count)).squareRoot()
    }

    private func jittered(rate: Double, count: Int, from start: Double = 0) -> [(stamp: Double, truth: Double)] {
        var random = SplitMix(seed: 4)
        return (0..<count).map { index in
            let truth = start + Double(index) / rate
            return (truth + 0.3 * (2 * random.unit() - 1) / rate, truth)
        }
    }

    @Test(arguments: [12.5, 15, 50, 400]) func jitterIsTakenAway(rate: Double) {
        let stamps = jittered(rate: rate, count: 2000)
        // The stamps' own error is 0.3/√3 = 0.17.
        #expect(error(stamps, rate: rate) < 0.08)
        var random = SplitMix(seed: 5)
        #expect(error(stamps.filter { _ in random.unit() > 0.05 }, rate: rate) < 0.09)
    }

    @Test func anEvenStreamIsLeftAsItIs() {
        var clock = SampleClock()
        for index in 0..<1000 {
            let time = 1e6 + Double(index) / 50
            #expect(clock.add(time).map { abs($0 - time) < 1e-6 } ?? false)
        }
    }

    @Test func timesGoOnWhateverTheStampsDo() {
        var random = SplitMix(seed: 6)
        var (stamp, last) = (0.0, -Double.infinity)
        var clock = SampleClock()
        for index in 0..<10_000 {
            // A new rate every 100 stamps, with an occasional jitter of more than a period.
            let rate = [15.0, 200, 12.5, 50, 25][index / 100 % 5]
            stamp += (index % 17 == 0 ? 3 : 0.1 + 1.8 * random.unit()) / rate
            let time = clock.add(stamp)
            #expect(time.map { abs($0 - stamp) <= 1.5 / rate } ?? false, "\(index)")
            last = max(last, time ?? last)
        }
        #expect(last > 100)
    }

    @Test func anotherRateIsBelievedAtOnce() {
        let (slow, quick) = (jittered(rate: 15, count: 300), jittered(rate: 200, count: 3000, from: 20))
        var clock = SampleClock()
        for (stamp, _) in slow { _ = clock.add(stamp) }
        for (stamp, truth) in quick {
            #expect(clock.add(stamp).map { abs($0 - truth) < 0.01 } ?? false)
        }
    }

    @Test func whatIsNotLaterIsLeftOut() {
        var clock = SampleClock()
        #expect(clock.add(1) == 1)
        #expect(clock.add(1) == nil)
        #expect(clock.add(0.5) == nil)
        #expect(clock.add(.nan) == nil)
        #expect(clock.add(.infinity) == nil)
        #expect(clock.add(1.02) == 1.02)
    }

    @Test func aStampThatIsADayAheadCostsNoLaterOne() {
        var clock = SampleClock()
        #expect(clock.add(1) == 1)
        #expect(clock.add(86_401) == 86_401)
        #expect(clock.add(1.02) == nil, "one that is much earlier may be wrong itself")
        #expect(clock.add(1.04) == 1.04)
        #expect(clock.add(1.06) == 1.06)
        #expect(clock.add(-20) == nil)
        #expect(clock.add(1.08) == 1.08)
        #expect(clock.add(-19.98) == nil)
    }
}
