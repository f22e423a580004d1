/// Random numbers that a seed repeats (Marsaglia, "Xorshift RNGs", 2003). This target has nothing of `TestSupport`, which
/// would bring its dependencies to the thread sanitizer.
struct Xorshift: RandomNumberGenerator {
    /// Not 0.
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
