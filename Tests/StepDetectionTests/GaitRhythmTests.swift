import Testing

@testable import StepDetection

@Suite struct GaitRhythmTests {
    private func estimate(
        _ signal: (Double) -> Double, axes: ((Double) -> SIMD3<Double>)? = nil, following: Double? = nil,
        isWalking: Bool = false
    ) -> GaitEstimate? {
        var rhythm = GaitRhythm()
        var history = History(capacity: LagProducts.reach)
        // Only whole blocks.
        for index in 0..<(25 * LagProducts.block) {
            let time = Double(index) / GaitRhythm.rate
            let value = Float(signal(time))
            let axes = axes.map { SIMD3<Float>($0(time)) } ?? SIMD3(value, value, 0)
            let root = Float(signOf: value, magnitudeOf: value.magnitude.squareRoot())
            history.append(SIMD4(root, axes.x, axes.y, axes.z))
            _ = rhythm.append(root)
        }
        return rhythm.estimate(history, following: following, width: 0.2, isWalking: isWalking, least: 0.01)
    }

    @Test(arguments: [0.9, 1.2, 1.5, 1.8, 2.1, 2.4, 2.7]) func itFindsTheCadence(cadence: Double) throws {
        // Legs that differ: a strong correlation at the step, and some at the stride.
        let found = try #require(
            estimate { 0.2 * MadeWave.sine(cadence, $0) + 0.05 * MadeWave.sine(cadence / 2, $0 + 0.1) })
        #expect(abs(found.cadence / cadence - 1) < 0.03, "\(found.cadence)")
        #expect(found.regularity > 0.95)
        #expect(found.axesRegularity > 0.9)
        #expect(found.symmetry > 0.3)
    }

    @Test func legsThatDifferAreOneCadence() throws {
        // As in a trouser pocket: the stride is as strong as the step.
        let found = try #require(
            estimate { 0.2 * MadeWave.sine(1.8, $0) + 0.2 * MadeWave.sine(0.9, $0 + 0.1) })
        #expect(abs(found.cadence / 1.8 - 1) < 0.03, "\(found.cadence)")
        #expect(found.symmetry < 0.3)
    }

    @Test func itFollowsABout() throws {
        let found = try #require(estimate({ 0.2 * MadeWave.sine(1.9, $0) }, following: 1.2))
        #expect((0.95...1.5).contains(found.cadence))
        #expect(found.rivalry > 0.15)
        let same = try #require(estimate({ 0.2 * MadeWave.sine(1.9, $0) }, following: 1.85))
        #expect(same.rivalry == 0)
    }

    @Test func straightnessIsOfTheMovementNotOfTheDevice() throws {
        let sine = { (time: Double) in 0.2 * MadeWave.sine(1.8, time) }
        let cosine = { (time: Double) in 0.2 * MadeWave.sine(1.8, time + 0.25 / 1.8) }
        let line = try #require(estimate(sine, axes: { SIMD3(2, -1, 3) * sine($0) }))
        #expect(abs(try #require(line.straightness) - 1) < 0.01)
        let plane = try #require(estimate(sine, axes: { SIMD3(sine($0), cosine($0), 0) }))
        let turned = try #require(
            estimate(sine, axes: { SIMD3(0.6, 0, 0.8) * sine($0) + SIMD3(-0.8, 0, 0.6) * cosine($0) }))
        for circle in [plane, turned] { #expect(abs(try #require(circle.straightness) - 0.5) < 0.01) }
    }

    @Test func aMagnitudeAloneHasNoStraightness() throws {
        let sine = { (time: Double) in 0.2 * MadeWave.sine(1.8, time) }
        let alone = try #require(estimate(sine, axes: { SIMD3(sine($0), 0, 0) }))
        #expect(alone.straightness == nil)
        #expect(alone.axesRegularity == alone.regularity)
    }

    @Test func aRunnersStrideIsNoStep() throws {
        let run = { 0.5 * MadeWave.sine(2.6, $0) + 0.7 * MadeWave.sine(1.3, $0 + 0.1) }
        // 0.45 g: before a bout, this may be a walk.
        let before = try #require(estimate { 0.75 * run($0) })
        #expect(abs(before.cadence / 1.3 - 1) < 0.03, "\(before.cadence)")
        // 0.6 g: a walk has less.
        let found = try #require(estimate(run, isWalking: true))
        #expect(abs(found.cadence / 2.6 - 1) < 0.03, "\(found.cadence)")
        // At 0.8 g and 1.3 steps a second, a body would rise by 33 cm.
        let strong = { 1.3 * run($0) }
        for isWalking in [false, true] {
            #expect(estimate(strong, following: 1.3, isWalking: isWalking) == nil)
            let quick = try #require(estimate(strong, isWalking: isWalking))
            #expect(abs(quick.cadence / 2.6 - 1) < 0.03, "\(quick.cadence)")
        }
    }

    @Test func stillnessHasNoRhythm() {
        #expect(estimate { _ in 0 } == nil)
    }
}
