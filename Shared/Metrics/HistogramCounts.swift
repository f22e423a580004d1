/// How many of some durations were at most so long, for a histogram.
package struct HistogramCounts: Hashable, Sendable {
    /// A bound, and how many durations did not exceed it.
    package struct Bucket: Hashable, Sendable {
        /// Seconds.
        package let bound: Double
        /// How many durations were at most that long: those of the buckets before are among them.
        package let count: Int

        /// A bucket.
        package init(bound: Double, count: Int) {
            self.bound = bound
            self.count = count
        }
    }

    /// With growing bounds.
    package let buckets: [Bucket]
    /// How many durations there were.
    package let count: Int
    /// Seconds of all of them together.
    package let sum: Double

    /// The counts.
    package init(buckets: [Bucket], count: Int, sum: Double) {
        self.buckets = buckets
        self.count = count
        self.sum = sum
    }
}
