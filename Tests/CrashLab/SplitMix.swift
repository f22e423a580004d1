/// Random numbers that a seed repeats (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct SplitMix: RandomNumberGenerator, Sendable {
    var state: UInt64

    /// - Parameters:
    ///   - seed: the run's.
    ///   - name: what the numbers are for: one experiment's do not depend on those that ran before it.
    init(seed: UInt64, for name: String = "") {
        // FNV-1a, because Swift's own hashes differ from process to process.
        state = name.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// Whether something comes to pass that does so this often.
    mutating func happens(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }

    /// A time in a range of milliseconds.
    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
        .microseconds(Int.random(in: range.lowerBound * 1_000...range.upperBound * 1_000, using: &self))
    }
}
