extension Int64 {
    /// The nearest nanosecond, clamped to the range of `Int64`; 0 for NaN. A publisher may send any value as its clock.
    @inlinable
    public init(nanosecondsIn seconds: Double) {
        let nanoseconds = (seconds * 1e9).rounded()
        self = Int64(exactly: nanoseconds) ?? (nanoseconds > 0 ? .max : nanoseconds < 0 ? .min : 0)
    }
}
