import Testing

@testable import StepDetection

@Suite struct WalkingEvidenceTests {
    /// Whether 5 s of the same estimate begin a bout.
    private func begins(_ change: (inout GaitEstimate) -> Void, above: Double) -> Bool {
        var estimate = GaitEstimate()
        (estimate.deviation, estimate.cadence, estimate.bestCadence, estimate.strongest) = (0.3, 1.8, 1.8, 1.8)
        (estimate.regularity, estimate.axesRegularity) = (0.85, 0.8)
        change(&estimate)
        var evidence = WalkingEvidence(WalkingThresholds())
        for hop in 0..<20 { evidence.weigh(estimate, above: above, odds: 1, at: 0.24 * Double(hop)) }
        return evidence.isWalking
    }

    @Test func aRhythmBegins() {
        #expect(begins({ $0.symmetry = 0.6 }, above: 0.15))
    }

    @Test func threeStrokesAreNoStride() {
        let strokes = { (estimate: inout GaitEstimate) in (estimate.strongest, estimate.symmetry) = (2.7, -0.8) }
        #expect(!begins(strokes, above: 0.15))
        // Without blows, it may be a swinging arm.
        #expect(begins(strokes, above: 0.05))
        // A stride with only one measurable step, in a pocket with keys.
        #expect(begins({ ($0.strongest, $0.symmetry) = (0.9, -0.8) }, above: 0.15))
        // A heel that strikes twice.
        #expect(begins({ ($0.strongest, $0.symmetry) = (2.7, 0.6) }, above: 0.15))
    }

    @Test func aHandThatGoesUpAndDownIsNoWalking() {
        // At 0.3 g and once a second, 21 cm; along a line.
        let hand = { (estimate: inout GaitEstimate) in
            (estimate.cadence, estimate.bestCadence, estimate.strongest, estimate.straightness) = (1, 1, 1, 0.95)
            estimate.symmetry = 0.9
        }
        #expect(!begins(hand, above: 0.05))
        // If it is taken for twice the cadence.
        #expect(!begins({ (hand(&$0), $0.cadence = 2, $0.bestCadence = 2).0 }, above: 0.05))
        // A slow walk, in which the limb swings.
        #expect(begins({ (hand(&$0), $0.straightness = 0.6).0 }, above: 0.05))
        #expect(begins({ (hand(&$0), $0.deviation = 0.15).0 }, above: 0.05))
        // A magnitude without directions.
        #expect(begins({ (hand(&$0), $0.straightness = nil).0 }, above: 0.05))
    }
}
