import Glibc
import TestSupport

/// A synthetic walk with known steps: bouts of steps with pauses between them, measured by a device that hangs on the body.
///
/// Each step is a pulse of the body's vertical acceleration; every other one is weaker. The limb swings once a stride.
struct MadeWalk {
    var cadence = 1.8
    /// How much weaker every other step is, 0 … 1.
    var asymmetry = 0.1
    /// The height of a step's pulse in g.
    var strength = 0.35
    /// The swing of the limb in radians.
    var swing = 0.15
    /// Seconds before the first bout, of each bout, and between bouts.
    var start = 3.0
    var bout = 30.0
    var pause = 8.0
    var bouts = 1
    /// The standard deviation of the sensor's noise in g.
    var noise = 0.01

    /// The times of all steps.
    var steps: [Double] {
        (0..<bouts).flatMap { bout in
            (0..<Int(self.bout * cadence)).map { step in
                start + Double(bout) * (self.bout + pause) + (Double(step) + 0.5) / cadence
            }
        }
    }

    var end: Double { start + Double(bouts) * (bout + pause) }

    /// Seconds and three axes in g, `rate` times a second until `end`.
    func samples(rate: Double, seed: UInt64 = 1) -> [SIMD4<Double>] {
        var random = SplitMix(seed: seed)
        return (0..<Int(end * rate)).map { index in
            let time = Double(index) / rate
            let axes = axes(at: time) + noise * SIMD3(random.normal(), random.normal(), random.normal())
            return SIMD4(time, axes.x, axes.y, axes.z)
        }
    }

    /// The axes in g at a time: y is along the limb.
    func axes(at time: Double) -> SIMD3<Double> {
        let inBout = (time - start).truncatingRemainder(dividingBy: bout + pause)
        guard time >= start, inBout < Double(Int(bout * cadence)) / cadence else { return SIMD3(0, 1, 0) }
        let phase = inBout * cadence
        let step = Int(phase)
        // The mean over a step is zero; the maximum is in its middle.
        let place = 2 * Double.pi * (phase - Double(step) - 0.5)
        let weight = step % 2 == 0 ? 1 : 1 - asymmetry
        let vertical = strength * weight * (cos(place) + 0.35 * cos(2 * place))
        let angle = swing * sin(Double.pi * phase)
        return SIMD3(0.3 * swing * cos(Double.pi * phase), (1 + vertical) * cos(angle), (1 + vertical) * sin(angle))
    }
}
