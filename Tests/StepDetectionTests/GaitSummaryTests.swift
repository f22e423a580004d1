import Messages
import StepDetection
import Testing

struct GaitSummaryTests {
    /// The times of steps with these intervals in seconds, starting at `start`.
    private static func times(_ intervals: [Double], from start: Double = 0) -> [Double] {
        intervals.reduce(into: [start]) { $0.append(($0.last ?? 0) + $1) }
    }

    private static func measures(_ bouts: [Double]...) -> GaitMeasures {
        var summary = GaitSummary()
        for bout in bouts { summary.add(bout: bout) }
        return summary.measures
    }

    private func expect(_ value: Double?, _ expected: Double, within limit: Double = 1e-9) {
        #expect(abs((value ?? .nan) - expected) <= limit, "\(value.debugDescription)")
    }

    @Test func anEvenWalkVariesByNothing() {
        let measures = Self.measures(Self.times(Array(repeating: 0.5, count: 20)))
        #expect(measures.steps == 21)
        #expect(measures.strides == 19)
        expect(measures.walkingTime, 10)
        expect(measures.cadence, 2)
        expect(measures.stepTime, 0.5)
        expect(measures.strideTime, 1)
        expect(measures.strideTimeVariability, 0)
        #expect(measures.bouts == nil)
    }

    /// Steps of 0.6 and 0.4 s: all strides are equal.
    @Test func aLimpIsNoVariabilityOfStrides() {
        let limp = Self.measures(Self.times((0..<20).map { $0.isMultiple(of: 2) ? 0.6 : 0.4 }))
        expect(limp.strideTime, 1)
        expect(limp.strideTimeVariability, 0)
    }

    @Test func variabilityIsTheDeviationByTheMean() {
        // Strides of 1.1, 1.1, 0.9, 0.9 … s.
        let steps = (0..<9).map { [0.5, 0.6, 0.5, 0.4][$0 % 4] }
        let measures = Self.measures(Self.times(steps))
        #expect(measures.strides == 8)
        expect(measures.strideTimeVariability, (8 * 0.01 / 7.0).squareRoot())
    }

    @Test func twoPacesAreNoVariability() {
        let measures = Self.measures(
            Self.times(Array(repeating: 0.5, count: 10)), Self.times(Array(repeating: 0.8, count: 10), from: 100))
        expect(measures.strideTimeVariability, 0)
        expect(measures.strideTime, 1.3)
        expect(measures.walkingTime, 13)
        expect(measures.cadence, 20 / 13)
    }

    @Test func aStepThatWasMissedIsLeftOut() {
        var intervals = Array(repeating: 0.5, count: 20)
        intervals[8] = 1
        let measures = Self.measures(Self.times(intervals))
        expect(measures.stepTime, 0.5)
        expect(measures.strideTimeVariability, 0)
        #expect(measures.strides == 7 + 10)
        #expect(measures.steps == 21)
    }

    @Test func noStepAndOneStepHaveNoTimes() {
        #expect(Self.measures() == GaitMeasuresWithoutStep.value)
        let one = Self.measures([3])
        #expect(one.steps == 1)
        #expect(one.cadence == nil && one.stepTime == nil && one.strideTime == nil)
    }

    private enum GaitMeasuresWithoutStep {
        static var value: GaitMeasures {
            var value = GaitMeasures()
            value.bouts = (GaitSummary.classes.map(Optional.some) + [nil]).map { GaitMeasures.Bouts(upTo: $0) }
            return value
        }
    }

    @Test func summariesAddUp() {
        let bouts = [
            Self.times([0.5, 0.6, 0.5, 0.4]), Self.times(Array(repeating: 0.8, count: 10), from: 100), [200],
        ]
        var all = GaitSummary()
        for bout in bouts {
            var own = GaitSummary()
            own.add(bout: bout)
            all.add(own)
        }
        #expect(all.measures == Self.measures(bouts[0], bouts[1], bouts[2]))
    }

    @Test func stepsComeOneByOneToo() {
        let times = Self.times((0..<700).map { 0.5 + 0.01 * Double($0 % 3) })
        var summary = GaitSummary()
        for time in times { summary.add(step: time) }
        #expect(summary.measures.steps == 0)
        summary.endBout()
        summary.endBout()
        #expect(summary.measures == Self.measures(times))
        #expect(summary.measures.steps == 701)
        // Each piece of 256 intervals has one stride less.
        #expect(summary.measures.strides == 700 - 3)
    }

    /// From 2 to 1.4 steps a second within half an hour.
    @Test func aLongWalkMayChangeItsPace() {
        let times = Self.times((0..<3_000).map { 0.5 + 0.2 * Double($0) / 3_000 })
        let measures = Self.measures(times)
        #expect(measures.strideTimeVariability ?? 1 < 0.01, "\(measures)")
        expect(measures.strideTime, 1.2, within: 0.001)
    }

    @Test func boutsAreSortedByLength() throws {
        let measures = Self.measures(
            Self.times(Array(repeating: 0.5, count: 20)), Self.times(Array(repeating: 0.5, count: 21), from: 100),
            Self.times(Array(repeating: 0.5, count: 400), from: 200))
        let bouts = try #require(measures.bouts)
        #expect(bouts.map(\.upTo) == [10, 30, 60, 120, nil])
        #expect(bouts.map(\.bouts) == [1, 1, 0, 0, 1])
        #expect(bouts.map(\.steps) == [21, 22, 0, 0, 401])
        #expect(bouts.reduce(0) { $0 + $1.walkingTime } == measures.walkingTime)
    }

    /// The detector's own errors in step times add to the variability of a perfectly regular walk.
    @Test(arguments: [1.4, 1.8, 2.2])
    func aWalkThatIsMadeEvenIsFoundEven(cadence: Double) {
        var walk = MadeWalk()
        walk.cadence = cadence
        var count = StepCount()
        var detector = StepDetector(StepDetectorSettings(perG: 1))
        for sample in walk.samples(rate: 100) { count.add(sample, to: &detector) }
        let measures = Self.measures(count.steps.map(\.time))
        expect(measures.strideTime, 2 / cadence, within: 0.02 / cadence)
        #expect(measures.strideTimeVariability ?? 1 < 0.03, "\(measures)")
    }

    @Test func stepsThatAreFarApartAreOfDifferentBouts() {
        #expect(GaitSummary.bouts(in: []).isEmpty)
        #expect(GaitSummary.bouts(in: [1, 3, 5.5, 8.1, 9]).map(Array.init) == [[1, 3, 5.5], [8.1, 9]])
    }
}
