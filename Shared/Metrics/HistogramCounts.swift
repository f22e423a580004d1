/// The counts of a histogram of durations, by upper bound.
package struct HistogramCounts: Hashable, Sendable {
    /// An upper bound, and the number of durations that do not exceed it.
    package struct Bucket: Hashable, Sendable {
        /// In seconds.
        package let bound: Double
        /// The number of durations up to the bound, including those of earlier buckets.
        package let count: Int

        package init(bound: Double, count: Int) {
            self.bound = bound
            self.count = count
        }
    }

    /// With ascending bounds.
    package let buckets: [Bucket]
    package let count: Int
    /// The sum of all durations in seconds.
    package let sum: Double

    package init(buckets: [Bucket], count: Int, sum: Double) {
        self.buckets = buckets
        self.count = count
        self.sum = sum
    }
}
