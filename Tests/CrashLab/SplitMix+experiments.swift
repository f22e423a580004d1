import TestSupport

extension SplitMix {
    /// - Parameters:
    ///   - seed: the run's.
    ///   - name: what the numbers are for: one experiment's do not depend on those that ran before it.
    init(seed: UInt64, for name: String) {
        // FNV-1a, because Swift's own hashes differ from process to process.
        self.init(seed: name.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    }

    /// Whether something comes to pass that does so this often.
    mutating func happens(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }

    /// A time in a range of milliseconds.
    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
        .microseconds(Int.random(in: range.lowerBound * 1_000...range.upperBound * 1_000, using: &self))
    }
}
