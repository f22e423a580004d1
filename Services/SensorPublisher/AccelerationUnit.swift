/// The units that accelerations are measured in here.
package enum AccelerationUnit: String, CaseIterable, Hashable, Sendable {
    case g
    case metresPerSecondSquared = "m/s2"

    /// Standard gravity, the size of 1 g in m/s².
    package static let standardGravity = 9.80665

    /// What an acceleration in g is multiplied by to be in this unit.
    package var perG: Double {
        self == .g ? 1 : Self.standardGravity
    }
}
