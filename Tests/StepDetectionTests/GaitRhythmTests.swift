import Testing

@testable import StepDetection

@Suite struct GaitRhythmTests {
    private func estimate(_ signal: (Double) -> Double, following: Double? = nil) -> GaitEstimate? {
        var rhythm = GaitRhythm()
        var history = History(capacity: LagProducts.reach)
        // Whole blocks.
        for index in 0..<(25 * LagProducts.block) {
            let value = Float(signal(Double(index) / GaitRhythm.rate))
            let root = Float(signOf: value, magnitudeOf: value.magnitude.squareRoot())
            history.append(SIMD4(root, value, value, 0))
            _ = rhythm.append(root)
        }
        return rhythm.estimate(history, following: following, width: 0.2, least: 0.01)
    }

    @Test(arguments: [0.9, 1.2, 1.5, 1.8, 2.1, 2.4, 2.7]) func itFindsTheCadence(cadence: Double) throws {
        // Legs that differ: strong at the step, and something at the stride.
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

    @Test func stillnessHasNoRhythm() {
        #expect(estimate { _ in 0 } == nil)
    }
}
