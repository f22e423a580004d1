/// Decides when the next commit begins. Pure: times are given, in nanoseconds of one monotonic clock.
///
/// Batches come in bursts, so a commit waits a moment for the rest of one. After a slow sync, the disk is left alone for four
/// times as long as the sync took, but never longer than the interval that was asked for.
package struct CommitPace: Sendable {
    /// Nanoseconds that a commit waits for the rest of the burst after its first batch.
    private static let burst: Int64 = 2_000_000
    /// The shortest part of the interval between two commits: 8 ms of 100 ms. With 10 ms, the period of 100 samples a second,
    /// commits and samples would keep pace, and every sample would wait equally long, up to the whole period.
    private static let least = (of: Int64(8), in: Int64(100))

    /// The longest time that data may wait for its commit, in nanoseconds.
    package let interval: Int64
    private var earliest: Int64 = .min

    package init(interval: Int64) { self.interval = interval }

    /// When to commit data whose first batch came at `time`.
    package func next(after time: Int64) -> Int64 { min(max(time + Self.burst, earliest), time + interval) }

    package mutating func note(began: Int64, ended: Int64) {
        earliest = began + min(interval, max(interval * Self.least.of / Self.least.in, 4 * (ended - began)))
    }
}
