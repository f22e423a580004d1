import TestSupport

extension SplitMix {
    /// - Parameters:
    ///   - seed: the run's seed.
    ///   - name: the purpose of the numbers: those of one experiment do not depend on the experiments before it.
    init(seed: UInt64, for name: String) {
        // FNV-1a, because Swift's own hashes differ from process to process.
        self.init(seed: name.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    }

    /// A random event with this probability.
    mutating func happens(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }

    /// A random time in a range of milliseconds.
    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
        .microseconds(Int.random(in: range.lowerBound * 1_000...range.upperBound * 1_000, using: &self))
    }
}
