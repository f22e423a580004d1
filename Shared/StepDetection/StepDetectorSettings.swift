import Messages

/// What a `StepDetector` is told about its samples.
package struct StepDetectorSettings: Codable, Hashable, Sendable {
    /// Standard gravity in m/s².
    package static let standardGravity = AccelerationUnit.standardGravity

    /// How much 1 g is in the samples' unit: 1 for g, 9.80665 for m/s².
    package var perG: Double
    package var placement: SensorPlacement
    package var strictness: StepStrictness

    package init(
        perG: Double = standardGravity, placement: SensorPlacement = .unknown, strictness: StepStrictness = .normal
    ) {
        self.perG = perG
        self.placement = placement
        self.strictness = strictness
    }
}
