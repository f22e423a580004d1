import Messages
import TestSupport
import Testing

@testable import StepDetection

@Suite(.timeLimit(.minutes(5))) struct WalkingConfidenceTests {
    @Test func itIsALogisticOfOddsAndLength() {
        let confidence = WalkingConfidence(constant: 0.5, mean: 1, length: 0)
        #expect(abs(confidence(odds: -0.5, estimates: 7) - 0.5) < 1e-12)
        #expect(abs(confidence(odds: 0.5, estimates: 0) - 0.731) < 1e-3)
    }

    @Test func whatIsLearnedGrowsWithOddsAndIsNeverSure() {
        let learned = WalkingConfidence.learned
        var last = 0.0
        for odds in stride(from: -40.0, through: 40, by: 0.5) {
            let confidence = learned(odds: odds, estimates: 20)
            #expect(confidence >= last && (0.01...0.99).contains(confidence))
            last = confidence
        }
        #expect(learned(odds: 2.5, estimates: 80) > 0.9)
        #expect(learned(odds: -3, estimates: 10) < 0.5)
    }

    @Test func eachBoutHasThatOfItsLastStep() throws {
        var count = StepCount()
        var detector = StepDetector(StepDetectorSettings(perG: 1))
        for sample in MadeWalk(bouts: 2).samples(rate: 50) { count.add(sample, to: &detector) }
        #expect(count.bouts.count == 2)
        var rest = count.steps[...]
        for bout in count.bouts {
            let own = rest.prefix(bout.steps)
            rest = rest.dropFirst(bout.steps)
            #expect(bout.confidence == own.last?.confidence)
            #expect(own.allSatisfy { (0.01...0.99).contains($0.confidence) })
            let expected = own.reduce(0) { $0 + $1.expected }
            #expect(abs(expected - Double(bout.steps) * bout.confidence) < 1e-9)
        }
    }

    /// Hand movements at a table that happen to be regular have less confidence than a walk.
    @Test func whatIsCountedByChanceIsLessSureThanAWalk() throws {
        let walk = try #require(Heard(MadeWalk().samples(rate: 50)).steps.last)
        var random = SplitMix(seed: 3)
        var next = 1.0
        let blows = (0..<30_000).map { index in
            let time = Double(index) / 50
            if time > next + 0.1 { next = time + Double.random(in: 1...6, using: &random) }
            return SIMD4(
                time, 0.01 * random.normal(), 0, 1 + (abs(time - next) < 0.05 ? 0.8 : 0) + 0.01 * random.normal())
        }
        let steps = Heard(blows).steps
        #expect(!steps.isEmpty)
        #expect(steps.allSatisfy { $0.confidence < walk.confidence })
    }

    @Test func theExpectedErrorIsBounded() {
        for placement in SensorPlacement.allCases {
            for strictness in StepStrictness.allCases {
                let settings = StepDetectorSettings(placement: placement, strictness: strictness)
                #expect(StepError(steps: 0, expected: 0, settings) == StepError(falseSteps: 0, missedSteps: 0))
                for expected in [-1, 0, 30, 100, 101.0] {
                    let error = StepError(steps: 100, expected: expected, settings)
                    #expect(abs(error.falseSteps - (100 - max(0, min(100, expected)))) < 1e-9)
                    #expect((0...50).contains(error.missedSteps))
                    #expect((error.missedSteps > 0) == (expected > 0))
                }
            }
        }
    }
}
