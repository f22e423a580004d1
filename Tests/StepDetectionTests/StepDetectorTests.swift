import StepDetection
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StepDetectorTests {
    @Test(arguments: [12.5, 25, 50, 100, 200, 400], [1.3, 1.8, 2.3])
    func itCountsAWalkAtAnyRate(rate: Double, cadence: Double) {
        let walk = MadeWalk(cadence: cadence, bouts: 3)
        let count = Heard(walk.samples(rate: rate)).steps.count
        #expect(abs(count - walk.steps.count) <= 6, "\(count) counted, \(walk.steps.count) true")
    }

    @Test(arguments: [0.0, 0.3, 0.8]) func weakStepsOfOneLegCount(asymmetry: Double) {
        let walk = MadeWalk(asymmetry: asymmetry, bout: 60)
        let count = Heard(walk.samples(rate: 50)).steps.count
        #expect(abs(count - walk.steps.count) <= 2, "\(count) counted, \(walk.steps.count) true")
    }

    @Test(arguments: [0.8, 0.9, 1, 1.1, 1.2], [0.0, 0.15]) func aSlowWalkOnLegsThatMoveAlikeCounts(
        cadence: Double, asymmetry: Double
    ) {
        // Twice the cadence would be more usual: only the steps themselves decide.
        let walk = MadeWalk(cadence: cadence, asymmetry: asymmetry, strength: 0.2 * cadence, bouts: 2)
        let count = Heard(walk.samples(rate: 50)).steps.count
        #expect(abs(count - walk.steps.count) <= 4, "\(count) counted, \(walk.steps.count) true")
    }

    @Test func stepsAreWhereTheyWereMade() {
        let walk = MadeWalk(bout: 60)
        let steps = Heard(walk.samples(rate: 100)).steps
        let distances = steps.map { step in walk.steps.map { abs($0 - step.time) }.min() ?? .infinity }.sorted()
        #expect(distances[distances.count / 2] < 0.1)
        #expect(distances[distances.count * 95 / 100] < 0.2)
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.time < $1.time && $0.creditedAt <= $1.creditedAt })
    }

    @Test(arguments: [1.4, 1.8, 2.3, 2.8], [0.0, 0.3])
    func creditIsPrompt(cadence: Double, asymmetry: Double) throws {
        let walk = MadeWalk(cadence: cadence, asymmetry: asymmetry)
        let steps = Heard(walk.samples(rate: 50)).steps
        let first = try #require(steps.first)
        #expect(first.creditedAt - walk.steps[0] <= 4)
        let later = steps.filter { $0.creditedAt > first.creditedAt }
        #expect(later.count > 20)
        // A filled-in step is known when the next one has come.
        let delays = later.map { $0.creditedAt - $0.time }.sorted()
        #expect(delays[delays.count / 2] <= 0.25)
        #expect(delays[delays.count * 95 / 100] <= 0.5)
        #expect(steps.allSatisfy { $0.creditedAt > $0.time })
    }

    @Test func itsCadenceIsThatOfTheWalk() throws {
        for cadence in [1.2, 1.7, 2.2, 2.8] {
            var detector = StepDetector(StepDetectorSettings(perG: 1))
            var heard = Heard()
            let walk = MadeWalk(cadence: cadence, strength: 0.2 * cadence)
            heard.hear(walk.samples(rate: 50).filter { $0.x < 25 }, by: &detector)
            let measured = try #require(detector.cadence)
            #expect(abs(measured / cadence - 1) < 0.03, "\(measured), true is \(cadence)")
            #expect(heard.steps.suffix(10).allSatisfy { abs($0.cadence / cadence - 1) < 0.03 })
        }
    }

    @Test func aBoutBeginsAndEndsWithItsSteps() {
        let walk = MadeWalk(pause: 10, bouts: 3)
        let heard = Heard(walk.samples(rate: 50))
        #expect(heard.begins.count == 3)
        #expect(heard.ends.count == 3)
        for (index, (begin, end)) in zip(heard.begins, heard.ends).enumerated() {
            let start = walk.start + Double(index) * (walk.bout + walk.pause)
            #expect(abs(begin - start) < 1.2)
            #expect(abs(end - start - walk.bout) < 1.2)
            #expect(heard.steps.contains { $0.time == begin })
            #expect(heard.steps.contains { $0.time == end })
        }
    }

    /// The times in seconds of a walk's steps, with an uneven beginning: eight irregular steps, then 30 regular ones.
    private static let unevenSteps: [Double] = {
        let intervals = [0.46, 0.75, 0.7, 0.44, 0.78, 0.52, 0.45, 0.74] + [Double](repeating: 0.56, count: 30)
        return intervals.reduce(into: [3.0]) { $0.append($0[$0.count - 1] + $1) }
    }()

    @Test func anUnevenBeginningCounts() throws {
        let steps = Self.unevenSteps
        let walk = MadeWalk(start: 0, bout: 1000)
        let samples = (0..<1500).map { index in
            let time = Double(index) / 50
            // The walk's time at which the same number of steps has been made.
            let next = steps.firstIndex { $0 > time } ?? 0
            guard next > 0 else { return SIMD4(time, 0, 1, 0) }
            let share = (time - steps[next - 1]) / (steps[next] - steps[next - 1])
            let axes = walk.axes(at: (Double(next) - 0.5 + share) / walk.cadence)
            return SIMD4(time, axes.x, axes.y, axes.z)
        }
        let heard = Heard(samples)
        let first = try #require(heard.steps.first)
        #expect(abs(first.time - steps[0]) < 0.8, "\(first.time)")
        #expect(abs(heard.steps.count - steps.count) <= 2, "\(heard.steps.count)")
        #expect(heard.begins == [first.time])
        // The rhythm's own window is shorter.
        var thresholds = WalkingThresholds()
        thresholds.longestStep = 0
        var detector = StepDetector(StepDetectorSettings(perG: 1), thresholds)
        var late = Heard()
        late.hear(samples, by: &detector)
        #expect(late.steps.count < heard.steps.count)
    }

    @Test func thereIsNoCadenceWithoutWalking() {
        var detector = StepDetector(StepDetectorSettings(perG: 1))
        var heard = Heard()
        let samples = MadeWalk(pause: 10).samples(rate: 50)
        heard.hear(samples.prefix(100), by: &detector)
        #expect(detector.cadence == nil)
        heard.hear(samples.dropFirst(100), by: &detector)
        #expect(detector.cadence == nil)
    }

    // MARK: - What is not walking

    @Test(arguments: [0.0, 0.01, 0.05, 0.3]) func noiseIsNoWalking(size: Double) {
        var random = SplitMix(seed: 7)
        let samples = (0..<60_000).map { index in
            SIMD4(Double(index) / 50, size * random.normal(), size * random.normal(), 1 + size * random.normal())
        }
        #expect(Heard(samples).events.isEmpty)
    }

    @Test func aVibrationIsNoWalking() {
        let samples = (0..<30_000).map { index in
            let time = Double(index) / 100
            return SIMD4(time, 0, 0, 1 + 0.3 * MadeWave.sine(9.3, time))
        }
        #expect(Heard(samples).steps.isEmpty)
    }

    @Test func aRhythmTooWeakForItsSpeedIsNoWalking() {
        // Brushing teeth: 3.2 times a second, with a small amplitude.
        let samples = (0..<6000).map { index in
            let time = Double(index) / 50
            return SIMD4(time, 0, 0, 1 + 0.085 * MadeWave.sine(3.2, time))
        }
        #expect(Heard(samples).steps.count == 0)
    }

    @Test(arguments: [0.8, 0.9, 1.0]) func aHandThatGoesUpAndDownIsNoWalking(frequency: Double) {
        // By 27 to 43 cm, in a hand that turns slightly with the movement.
        let samples = (0..<3000).map { index in
            let time = Double(index) / 50
            let rise = 0.55 * MadeWave.sine(frequency, time)
            return SIMD4(time, 0.25 * rise, 0.08 * MadeWave.sine(2 * frequency, time), 1 + rise)
        }
        #expect(Heard(samples).steps.count == 0)
    }

    /// Blows of 0.1 s at random times, in 10 minutes.
    private func blows(apart: ClosedRange<Double>) -> [SIMD4<Double>] {
        var random = SplitMix(seed: 3)
        var next = 1.0
        return (0..<30_000).map { index in
            let time = Double(index) / 50
            if time > next + 0.1 { next = time + Double.random(in: apart, using: &random) }
            return SIMD4(
                time, 0.01 * random.normal(), 0, 1 + (abs(time - next) < 0.05 ? 0.8 : 0) + 0.01 * random.normal())
        }
    }

    @Test func blowsNowAndThenAreNoWalking() {
        // Of 170 blows: two whose interval happens to equal the previous one are half a walk.
        #expect(Heard(blows(apart: 1...6)).steps.count < 85)
        #expect(Heard(blows(apart: 4...15)).steps.isEmpty)
    }

    // MARK: - How the samples come

    @Test func batchesOfAnySizeGiveTheSame() {
        let samples = MadeWalk(bouts: 2).samples(rate: 50)
        let whole = Heard(samples)
        #expect(whole.steps.count > 90)
        var random = SplitMix(seed: 11)
        for _ in 0..<5 {
            var detector = StepDetector(StepDetectorSettings(perG: 1))
            var heard = Heard()
            var rest = samples[...]
            while !rest.isEmpty {
                let batch = rest.prefix(Int.random(in: 1...300, using: &random))
                heard.hear(batch, by: &detector)
                rest = rest.dropFirst(batch.count)
            }
            #expect(heard == whole)
        }
    }

    @Test func theUnitMakesNoDifference() {
        let samples = MadeWalk().samples(rate: 50)
        let metric = samples.map { SIMD4($0.x, $0.y * 9.80665, $0.z * 9.80665, $0.w * 9.80665) }
        #expect(Heard(samples).steps.map(\.time) == Heard(metric, StepDetectorSettings()).steps.map(\.time))
    }

    @Test func theClockMakesNoDifference() {
        let samples = MadeWalk().samples(rate: 50)
        let later = samples.map { SIMD4($0.x + 8_388_608, $0.y, $0.z, $0.w) }
        let (one, other) = (Heard(samples).steps, Heard(later).steps)
        #expect(one.count == other.count)
        #expect(zip(one, other).allSatisfy { abs($0.time + 8_388_608 - $1.time) < 1e-6 })
    }

    @Test func turningTheDeviceMakesNoDifference() {
        let samples = MadeWalk(bouts: 2).samples(rate: 50)
        let swapped = samples.map { SIMD4($0.x, -$0.w, $0.y, $0.z) }
        let turned = samples.map { SIMD4($0.x, 0.6 * $0.y + 0.8 * $0.z, 0.6 * $0.z - 0.8 * $0.y, $0.w) }
        let steps = Heard(samples).steps.map(\.time)
        #expect(Heard(swapped).steps.map(\.time) == steps)
        #expect(Heard(turned).steps.map(\.time) == steps)
    }

    @Test func aMagnitudeAloneIsEnough() {
        let walk = MadeWalk(bouts: 2)
        let samples = walk.samples(rate: 50).map { sample in
            SIMD4(sample.x, (sample.y * sample.y + sample.z * sample.z + sample.w * sample.w).squareRoot(), 0, 0)
        }
        #expect(abs(Heard(samples).steps.count - walk.steps.count) <= 2)
    }

    @Test(arguments: [SIMD3(0.1, 0, 0), SIMD3(0, 0.1, 0), SIMD3(0, -0.1, 0), SIMD3(0, 0, -0.1)])
    func aBiasMakesNoDifference(bias: SIMD3<Double>) {
        let samples = MadeWalk(bouts: 2).samples(rate: 50)
        let biased = samples.map { SIMD4($0.x, $0.y + bias.x, $0.z + bias.y, $0.w + bias.z) }
        #expect(abs(Heard(biased).steps.count - Heard(samples).steps.count) <= 1)
    }

    @Test(arguments: [12.5, 15, 25, 50, 100, 200]) func jitterAndMissingSamplesMakeNoDifference(rate: Double) {
        let walk = MadeWalk(bouts: 3)
        var random = SplitMix(seed: 5)
        let samples = walk.samples(rate: rate).compactMap { sample -> SIMD4<Double>? in
            let axes = walk.axes(at: sample.x + 0.3 * (2 * random.unit() - 1) / rate)
            return random.unit() < 0.02 ? nil : SIMD4(sample.x, axes.x, axes.y, axes.z)
        }
        let count = Heard(samples).steps.count
        #expect(abs(count - walk.steps.count) <= 3, "\(count) counted, \(walk.steps.count) true")
    }

    @Test func aChangeOfRateMakesNoDifference() {
        let walk = MadeWalk(bout: 60)
        let samples =
            walk.samples(rate: 100).filter { $0.x < 20 } + walk.samples(rate: 15).filter { 20...40 ~= $0.x }
            + walk.samples(rate: 200).filter { $0.x > 40 }
        #expect(abs(Heard(samples).steps.count - walk.steps.count) <= 2)
    }

    @Test func aGapEndsABout() {
        let samples = MadeWalk(bout: 40).samples(rate: 50).filter { !(20...25 ~= $0.x) }
        let heard = Heard(samples)
        #expect(heard.begins.count == 2)
        #expect(heard.ends.first.map { $0 < 20 } ?? false)
        #expect(heard.steps.allSatisfy { !(20.1...24.9 ~= $0.time) })
        #expect(heard.steps.contains { 25...28 ~= $0.time })
    }

    @Test func badSamplesAreLeftOut() {
        let samples = MadeWalk().samples(rate: 50)
        var spoilt: [SIMD4<Double>] = []
        for (index, sample) in samples.enumerated() {
            spoilt.append(sample)
            switch index % 50 {
            case 5: spoilt.append(SIMD4(sample.x + 0.001, 1e30, 0, 1))
            case 10: spoilt.append(SIMD4(sample.x + 0.001, .nan, 0, 1))
            case 20: spoilt.append(SIMD4(sample.x - 5, 3, 3, 3))
            case 30: spoilt.append(SIMD4(.infinity, 0, 0, 1))
            case 40: spoilt.append(SIMD4(sample.x, 9, 9, 9))
            default: break
            }
        }
        #expect(Heard(spoilt) == Heard(samples))
    }

    // MARK: - Settings

    @Test func strictnessOrdersWhatIsCounted() {
        let samples = blows(apart: 0.3...1.5)
        let counts = [StepStrictness.lenient, .normal, .strict].map {
            Heard(samples, StepDetectorSettings(perG: 1, strictness: $0)).steps.count
        }
        #expect(counts[0] > counts[1] && counts[1] > counts[2], "\(counts)")
    }

    @Test func clappingIsToldFromWalkingAtTheWrist() {
        // Twice a second, a blow of 60 ms.
        let samples = (0..<6000).map { index in
            let time = Double(index) / 50
            let phase = (time * 2).truncatingRemainder(dividingBy: 1)
            return SIMD4(time, 0, 0, 1 + (phase < 0.12 ? 1.5 : 0))
        }
        #expect(Heard(samples, StepDetectorSettings(perG: 1, placement: .wrist)).steps.isEmpty)
        #expect(!Heard(MadeWalk().samples(rate: 50), StepDetectorSettings(perG: 1, placement: .wrist)).steps.isEmpty)
    }

    @Test(arguments: [2.3, 2.4]) func clappingThatIsQuickerThanAWalkIsNotCounted(cadence: Double) {
        // Hands move to and fro, with a blow when they meet: weaker than a run, in which the body leaves the ground.
        let samples = (0..<6000).map { index in
            let time = Double(index) / 50
            let phase = (time * cadence).truncatingRemainder(dividingBy: 1)
            let swing = 0.15 * MadeWave.sine(cadence, time)
            return SIMD4(time, 0, swing, 1 + 0.5 * swing + (phase < 0.1 ? 0.6 : 0))
        }
        #expect(Heard(samples).steps.count == 0)
    }
}
