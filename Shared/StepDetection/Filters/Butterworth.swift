import Glibc

/// The coefficients of a second-order Butterworth filter.
///
/// By the bilinear transform, with the frequency prewarped and Q = 1/√2 (Robert Bristow-Johnson, "Cookbook formulae for audio
/// equalizer biquad filter coefficients").
struct Butterworth: Hashable, Sendable {
    let b0, b1, b2, a1, a2: Float

    /// Passes frequencies below `cutoff`; both in Hz.
    static func lowPass(_ cutoff: Double, rate: Double) -> Self {
        Self(cutoff, rate: rate) {
            (1 - $0) / 2
        } middle: {
            1 - $0
        }
    }

    /// Passes frequencies above `cutoff`; both in Hz.
    static func highPass(_ cutoff: Double, rate: Double) -> Self {
        Self(cutoff, rate: rate) {
            (1 + $0) / 2
        } middle: {
            -1 - $0
        }
    }

    private init(_ cutoff: Double, rate: Double, edge: (Double) -> Double, middle: (Double) -> Double) {
        let angle = 2 * Double.pi * cutoff / rate
        let (cosine, alpha) = (cos(angle), sin(angle) / 2.0.squareRoot())
        let a0 = 1 + alpha
        b0 = Float(edge(cosine) / a0)
        b1 = Float(middle(cosine) / a0)
        b2 = b0
        a1 = Float(-2 * cosine / a0)
        a2 = Float((1 - alpha) / a0)
    }
}
