import ArgumentParser
import ServiceKit
import StepDetection

/// The units of acceleration that steps are detected in.
enum AccelerationUnit: String, CaseIterable, ConfigurationValue, ExpressibleByArgument {
    case g
    case metresPerSecondSquared = "m/s2"

    /// A unit as streams write it; nil for another quantity's.
    init?(_ text: String) {
        switch text {
        case "g", "G": self = .g
        case "m/s2", "m/s²", "m/s^2", "m s-2", "m·s⁻²": self = .metresPerSecondSquared
        default: return nil
        }
    }

    /// How much 1 g is in it.
    var perG: Double { self == .g ? 1 : StepDetectorSettings.standardGravity }
}
