import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport

/// A synthetic measurement of a device on the wrist of a person who walks, as a recording that can be replayed endlessly: an
/// acceleration in g and a rotation in radians per second, six numbers, with no two equal rows on any two devices.
struct MovingDevice {
    /// Samples per second.
    static let rate = 100
    /// Steps per second.
    static let cadence = 2.0
    /// Whole strides, so that the recording repeats seamlessly.
    private static let seconds = 20

    private let random: SplitMix

    init(_ name: String, seed: UInt64) { random = SplitMix(seed: seed, for: name) }

    /// Writes the recording as a table.
    func write(to path: FilePath) throws {
        var random = random
        var text = "x,y,z,rotationX,rotationY,rotationZ\n"
        for index in 0..<Self.seconds * Self.rate {
            let step = 2 * Double.pi * Self.cadence * Double(index) / Double(Self.rate)
            let row = [
                0.12 * sin(step / 2) + 0.05 * sin(step), 1 + 0.28 * sin(step) + 0.08 * sin(2 * step),
                0.1 * cos(step), 1.2 * sin(step / 2), 0.4 * cos(step / 2), 0.3 * sin(step),
            ]
            text += row.map { "\($0 + 0.01 * random.normal())" }.joined(separator: ",") + "\n"
        }
        try Data(text.utf8).write(to: URL(filePath: path.string))
    }
}
