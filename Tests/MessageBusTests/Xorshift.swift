/// Reproducible random numbers (Marsaglia, "Xorshift RNGs", 2003). This target does not use `TestSupport`, which would bring its
/// dependencies to the thread sanitizer.
struct Xorshift: RandomNumberGenerator {
    /// Must not be 0.
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
