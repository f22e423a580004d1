extension SIMD8<Float> {
    /// 1/√x of each lane, accurate to the last digit or two; large for 0, meaningless for negative numbers.
    ///
    /// `squareRoot()` takes one lane after another, this takes all at once. Half the exponent, from the bits, is a first guess;
    /// each step of Newton's method doubles its digits (Lomont, "Fast inverse square root", 2003).
    @inline(__always)
    func inverseSquareRoot() -> Self {
        let bits = SIMD8<UInt32>(repeating: 0x5F37_59DF) &- (unsafeBitCast(self, to: SIMD8<UInt32>.self) &>> 1)
        var guess = unsafeBitCast(bits, to: Self.self)
        let half = 0.5 * self
        for _ in 0..<3 { guess *= 1.5 - half * guess * guess }
        return guess
    }
}
