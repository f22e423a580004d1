import Testing

@testable import StepDetection

@Suite struct WalkingLikelihoodTests {
    /// The features of 10 s of a magnitude, in g in addition to gravity.
    private func features(_ magnitude: (Double) -> Double, sideways: Double = 0) -> SIMD16<Float> {
        var character = MotionCharacter()
        var highPass = Filter(.highPass(0.5, rate: GaitRhythm.rate))
        var lowPass = Filter(.lowPass(6, rate: GaitRhythm.rate))
        for index in 0..<250 {
            let time = Double(index) / GaitRhythm.rate
            let value = Float(1 + magnitude(time))
            let cell = SIMD4(value, Float(sideways * MadeWave.sine(1, time)), 0, value)
            if index == 0 {
                highPass.settle(at: cell)
                lowPass.settle(at: SIMD4())
                character.settle(at: cell)
            }
            let moving = highPass(cell)
            character.append(cell, moving: moving, passed: lowPass(moving))
        }
        var estimate = GaitEstimate()
        (estimate.deviation, estimate.cadence, estimate.strongest) = (0.15, 1.8, 1.8)
        return character.features(of: estimate)
    }

    @Test func theUsualIsZero() {
        let features = features { 0.2 * MadeWave.sine(1.8, $0) }
        #expect(features[0] == 0 && features[4] == 0 && features[5] == 0)
        #expect(features[9].magnitude < 0.3)
    }

    @Test func blowsAreSharpAndSkewed() {
        let smooth = features { 0.2 * MadeWave.sine(1.8, $0) }
        let blows = features { ($0 * 1.8).truncatingRemainder(dividingBy: 1) < 0.15 ? 0.6 : 0 }
        #expect(blows[6] > smooth[6] + 1 && blows[7] > smooth[7] + 1)
        #expect(blows[9] > 0.5)
    }

    @Test func aMagnitudeAloneIsMiddlingSideways() {
        let narrow = features({ 0.2 * MadeWave.sine(1.8, $0) }, sideways: 0.1)
        let wide = features({ 0.2 * MadeWave.sine(1.8, $0) }, sideways: 1)
        #expect(wide[8] > narrow[8] + 0.5)
        let alone = features { 0.2 * MadeWave.sine(1.8, $0) }
        #expect(alone[8] == 0.4 && alone[11] == 0.57)
    }

    @Test func featuresAreBounded() {
        for size in [0.0, 1e-9, 1e6] {
            let features = features { size * MadeWave.sine(2, $0) }
            for index in 0..<16 { #expect(features[index].magnitude <= 4, "\(index) at \(size)") }
        }
    }

    @Test func oddsAreASumOverTheTable() {
        let likelihood = WalkingLikelihood([(weight: 2, square: 0), (weight: 0, square: -1)], constant: 0.5)
        var features = SIMD16<Float>()
        features[0] = 3
        features[1] = 2
        #expect(likelihood(features) == 2.5)
        #expect(likelihood(SIMD16()) == 0.5)
    }

    @Test func whatIsLearnedTellsAWalkFromAShake() {
        var walk = SIMD16<Float>()
        (walk[1], walk[2], walk[3], walk[6], walk[7], walk[8], walk[10]) = (0.9, 0.85, 0.6, -1.2, -0.5, 0.4, -1.2)
        walk[11] = 0.53
        var shake = walk
        (shake[0], shake[1], shake[2], shake[3], shake[8]) = (-1, 0.5, 0.2, 0, 0.8)
        #expect(WalkingLikelihood.learned(walk) > 2)
        #expect(WalkingLikelihood.learned(shake) < -2)
        // Movement along a single line comes from hands at work.
        var stroke = walk
        stroke[11] = 0.9
        #expect(WalkingLikelihood.learned(stroke) < WalkingLikelihood.learned(walk) - 2)
    }

    @Test func oddsOfAMagnitudeAloneHastenLess() {
        let thresholds = WalkingThresholds()
        #expect(thresholds.likelihood(0, hasAxes: true) == 0)
        #expect(thresholds.likelihood(3, hasAxes: true) > thresholds.likelihood(3, hasAxes: false))
        for hasAxes in [true, false] {
            #expect(thresholds.likelihood(-3, hasAxes: hasAxes) < 0)
            #expect(thresholds.likelihood(-100, hasAxes: hasAxes) == thresholds.likelihood(-9, hasAxes: hasAxes))
        }
    }
}
