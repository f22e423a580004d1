import Glibc

/// Describes the movement of the last seconds apart from its rhythm: how quick, how sharp, how skewed, along which axes.
///
/// All values are exponentially fading means of powers of filtered signals: a cell costs a few additions, regardless of the
/// length of the window.
struct MotionCharacter: Hashable, Sendable {
    /// The share of a mean that a cell replaces: for 1.7 s and 5 s.
    private static let quickShare: Float = 1 / 42
    private static let slowShare: Float = 1 / 125

    /// For the magnitude: above 6 Hz, above 3 Hz, and between 0.5 and 3 Hz (twice).
    private var bank = Filter(
        .highPass(6, rate: GaitRhythm.rate), .highPass(3, rate: GaitRhythm.rate), .lowPass(3, rate: GaitRhythm.rate),
        .lowPass(3, rate: GaitRhythm.rate))
    /// The mean squares of the bank's outputs over 1.7 s.
    private var quick = SIMD4<Float>()
    /// The same over 5 s; the last lane is the mean third power between 0.5 and 3 Hz.
    private var slow = SIMD4<Float>()
    /// The mean squares of the magnitude and the axes from 0.5 to 6 Hz.
    private var axes = SIMD4<Float>()

    /// The standard deviation of the magnitude above 6 Hz, in g.
    var aboveSixHertz: Double { Double(quick.x.squareRoot()) }

    /// Restarts, as if the device had been still before.
    mutating func settle(at value: SIMD4<Float>) {
        bank.settle(at: SIMD4(value.x, value.x, 0, 0))
        (quick, slow, axes) = (SIMD4(), SIMD4(), SIMD4())
    }

    /// Takes a cell's mean, its part above 0.5 Hz, and its part from 0.5 to 6 Hz.
    @inline(__always)
    mutating func append(_ mean: SIMD4<Float>, moving: SIMD4<Float>, passed: SIMD4<Float>) {
        let parts = bank(SIMD4(mean.x, mean.x, moving.x, moving.x))
        var powers = parts * parts
        quick += (powers - quick) * Self.quickShare
        powers.w *= parts.w
        slow += (powers - slow) * Self.slowShare
        axes += (passed * passed - axes) * Self.quickShare
    }

    /// The features for `WalkingLikelihood`, in the order of its table; each is from −4 to 4.
    func features(of estimate: GaitEstimate) -> SIMD16<Float> {
        let slowest = max(slow.z, 1e-6)
        let sideways = axes.y + axes.z + axes.w
        // Natural logarithms of ratios of amplitudes.
        let features: [12 of Float] = [
            Self.logarithm(Float(estimate.deviation) / 0.15),
            Float(estimate.regularity),
            Float(estimate.axesRegularity),
            Float(estimate.symmetry),
            Self.logarithm(Float(estimate.cadence) / 1.8),
            Self.logarithm(Float(estimate.strongest) / 1.8),
            0.5 * Self.logarithm(quick.x / max(quick.z, 1e-6)),
            0.5 * Self.logarithm(quick.y / max(quick.z, 1e-6)),
            // A stream with only the magnitude has no information about axes: use a middle value.
            sideways > 1.01 * axes.x ? 0.5 * Self.logarithm(sideways / max(axes.x, 1e-6)) : 0.4,
            slow.w / (slowest * slowest.squareRoot()),
            0.5 * Self.logarithm(slow.x / slowest),
            // Also a middle value: 0.53 is the mean of walking, 0.62 that of all other movements.
            Float(estimate.straightness ?? 0.57),
        ]
        var result = SIMD16<Float>()
        for index in features.indices { result[index] = max(-4, min(4, features[index])) }
        return result
    }

    private static func logarithm(_ ratio: Float) -> Float { log(max(ratio, 1e-6)) }

    mutating func read(from state: inout DetectorStateReader) {
        bank.read(from: &state)
        quick = state.next()
        slow = state.next()
        axes = state.next()
    }

    func write(to state: inout DetectorStateWriter) {
        bank.write(to: &state)
        state.append(quick)
        state.append(slow)
        state.append(axes)
    }
}
