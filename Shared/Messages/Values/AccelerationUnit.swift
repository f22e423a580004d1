/// The supported units of acceleration.
package enum AccelerationUnit: String, CaseIterable, Hashable, Sendable {
    case g
    case metresPerSecondSquared = "m/s2"

    /// Standard gravity, the size of 1 g in m/s².
    package static let standardGravity = 9.80665

    /// Parses a unit as streams and people write it; nil for a unit of another quantity.
    package init?(_ text: String) {
        switch text {
        case "g", "G": self = .g
        case "m/s2", "m/s²", "m/s^2", "m s-2", "m·s⁻²": self = .metresPerSecondSquared
        default: return nil
        }
    }

    /// The factor from g to this unit.
    package var perG: Double {
        self == .g ? 1 : Self.standardGravity
    }
}
