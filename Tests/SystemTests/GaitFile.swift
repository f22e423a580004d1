import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport

/// A synthetic recording of a person who walks and stands: an accelerometer at 50 Hz with jittered times, in m/s².
enum GaitFile {
    /// Writes the recording as CSV.
    /// - Parameter seconds: its length. The person stands for the last five seconds of each half minute.
    static func write(_ path: FilePath, seconds: Int) throws {
        var random = SplitMix(seed: 1)
        var text = "t,x,y,z\n"
        var phase = 0.0
        for row in 0..<seconds * 50 {
            let time = (Double(row) + .random(in: -0.2...0.2, using: &random)) / 50
            let isWalking = row % 1_500 < 1_250
            // Two steps per stride, at a slowly varying speed.
            phase += isWalking ? (1.8 + 0.1 * sin(time / 7)) / 50 : 0
            let strength = isWalking ? 1.0 : 0
            let up = 2.5 * sin(2 * .pi * phase) + 0.8 * sin(4 * .pi * phase + 1)
            let side = 0.7 * sin(.pi * phase)
            func noise() -> Double { .random(in: -0.15...0.15, using: &random) }
            let axes = [0.5 + strength * side + noise(), 9.6 + strength * up + noise(), 1.9 + noise()]
            text += ([max(0, time)] + axes).map { "\(($0 * 1e4).rounded() / 1e4)" }.joined(separator: ",") + "\n"
        }
        try text.write(toFile: path.string, atomically: true, encoding: .utf8)
    }
}
