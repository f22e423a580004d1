#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Random numbers that are a function of (seed, sample's index, axis): the same in every process and any order, so that a
/// subscriber can compute each one.
///
/// The bits come from SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): channel c of seed s
/// is the generator whose state starts at mix(s + c · 0xD1B54A32D192ED03), and draw n is its n-th output, which needs no draws
/// before it. A sample's normal number takes draws 2i and 2i + 1 by Box and Muller's method.
package struct Noise: Hashable, Sendable {
    package enum Distribution: String, CaseIterable, Hashable, Sendable {
        /// Normal; the amplitude is the standard deviation.
        case gaussian
        /// Even between −amplitude and +amplitude.
        case uniform
    }

    package var seed: UInt64
    package var amplitude: Double
    package var distribution: Distribution

    package init(seed: UInt64 = 1, amplitude: Double = 1, distribution: Distribution = .gaussian) {
        self.seed = seed
        self.amplitude = amplitude
        self.distribution = distribution
    }

    /// The number of one channel (0, 1, 2 = x, y, z) at one sample.
    package func value(index: Int64, channel: UInt64) -> Double {
        let state = Self.mix(seed &+ channel &* 0xD1B5_4A32_D192_ED03)
        let draw = UInt64(bitPattern: index) &* 2
        let first = Self.unit(state, draw)
        switch distribution {
        case .uniform: return amplitude * (2 * first - 1)
        case .gaussian:
            let second = Self.unit(state, draw &+ 1)
            return amplitude * (-2 * log(1 - first)).squareRoot() * cos(2 * .pi * second)
        }
    }

    /// The numbers of channels `first`, `first` + 1 and `first` + 2.
    package func vector(index: Int64, first: UInt64 = 0) -> SIMD3<Double> {
        SIMD3(
            value(index: index, channel: first), value(index: index, channel: first + 1),
            value(index: index, channel: first + 2))
    }

    /// Draw `index` of a generator, as a number in 0..<1 with 53 random bits.
    private static func unit(_ state: UInt64, _ index: UInt64) -> Double {
        Double(mix(state &+ (index &+ 1) &* 0x9E37_79B9_7F4A_7C15) >> 11) * 0x1p-53
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        var bits = value
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
