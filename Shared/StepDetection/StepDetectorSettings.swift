import Messages

/// The properties of a `StepDetector`'s samples, and its strictness.
package struct StepDetectorSettings: Codable, Hashable, Sendable {
    /// Standard gravity in m/s².
    package static let standardGravity = AccelerationUnit.standardGravity

    /// 1 g in the samples' unit: 1 for g, 9.80665 for m/s².
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
