/// The supported units of a rotation rate.
enum RotationUnit: String {
    case radiansPerSecond = "rad/s"
    case degreesPerSecond = "deg/s"

    /// Parses a unit as streams and people write it; nil for a unit of another quantity.
    init?(_ text: String) {
        switch text {
        case "rad/s", "rad s-1", "rad·s⁻¹": self = .radiansPerSecond
        case "deg/s", "°/s", "dps": self = .degreesPerSecond
        default: return nil
        }
    }

    /// Factor that converts a rotation rate to rad/s.
    var scale: Double { self == .radiansPerSecond ? 1 : Double.pi / 180 }
}
