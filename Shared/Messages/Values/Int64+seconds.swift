extension Int64 {
    /// The nanosecond nearest to so many seconds. What can't be held becomes the nearest that can, and NaN becomes 0: what a
    /// publisher says of its clock may be anything.
    @inlinable
    public init(nanosecondsIn seconds: Double) {
        let nanoseconds = (seconds * 1e9).rounded()
        self = Int64(exactly: nanoseconds) ?? (nanoseconds > 0 ? .max : nanoseconds < 0 ? .min : 0)
    }
}
