/// A time limit for several waits together. It uses a monotonic clock, because this machine's date, by which libnats waits, can be set.
struct TimeLimit {
    private let end: ContinuousClock.Instant

    /// - Parameter limit: in milliseconds.
    init(_ limit: Int64) { end = ContinuousClock.now + .milliseconds(limit) }

    /// The milliseconds left; 0 at the end.
    var left: Int64 {
        let (seconds, attoseconds) = ContinuousClock.now.duration(to: end).components
        return max(0, seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }
}
