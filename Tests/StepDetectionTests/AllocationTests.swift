import AllocationCount
import StepDetection
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AllocationTests {
    @Test(arguments: StepStrictness.allCases) func samplesAndEstimatesAllocateNothing(strictness: StepStrictness) {
        let walk = MadeWalk(bouts: 3)
        let samples = walk.samples(rate: 50)
        var detector = StepDetector(StepDetectorSettings(perG: 1, strictness: strictness))
        // The first round makes the tables that all detectors share. The rounds are separated by a gap.
        for round in 0..<2 {
            let start = Double(round) * (walk.end + 9)
            let before = allocation_count()
            var steps = 0
            // By index: in a debug build, iterating over an array allocates.
            for index in 0..<samples.count {
                let sample = samples[index]
                detector.add(time: start + sample.x, x: sample.y, y: sample.z, z: sample.w) {
                    if case .step = $0 { steps += 1 }
                }
            }
            let allocations = allocation_count() - before
            #expect(steps > walk.steps.count - 10)
            guard round > 0 else { continue }
            // None in a release build. In a debug build, the beginning of a bout has forty, and estimates have one per one to
            // twelve samples.
            #expect(allocations < samples.count / 40, "\(allocations) for \(samples.count) samples")
        }
    }

    @Test func arraysAreCounted() {
        let before = allocation_count()
        let array = (0..<100).map { $0 }
        #expect(array.count == 100)
        #expect(allocation_count() > before)
    }
}
