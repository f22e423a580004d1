import Glibc

extension SplitMix {
    /// Uniformly distributed in 0 ..< 1.
    package mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }

    /// Normally distributed, mean 0 and variance 1 (Box and Muller, 1958).
    package mutating func normal() -> Double { sqrt(-2 * log(1 - unit())) * cos(2 * .pi * unit()) }
}
