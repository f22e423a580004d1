/// Decides when the next commit begins. Pure: times are given, in nanoseconds of one monotonic clock.
///
/// Batches come in bursts, so a commit waits a moment for the rest of one. A disk that takes long to sync is left alone for
/// four times as long, but never for longer than the interval that was asked for.
package struct CommitPace: Sendable {
    /// How long a commit waits for what comes together with the first batch.
    private static let burst: Int64 = 2_000_000
    /// Which part of the interval lies between two commits at least: 8 ms of 100 ms. Not 10 ms, the period of 100 samples a second: then
    /// commits and samples keep pace, and each sample waits for wherever between two of them the commits happen to be.
    private static let least = (of: Int64(8), in: Int64(100))

    /// The longest that something may wait to be committed.
    package let interval: Int64
    private var earliest: Int64 = .min

    package init(interval: Int64) { self.interval = interval }

    /// When to commit what came first at a time.
    package func next(after time: Int64) -> Int64 { min(max(time + Self.burst, earliest), time + interval) }

    package mutating func note(began: Int64, ended: Int64) {
        earliest = began + min(interval, max(interval * Self.least.of / Self.least.in, 4 * (ended - began)))
    }
}
