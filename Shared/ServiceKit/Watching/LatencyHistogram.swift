import Histogram
package import Metrics

/// How long something took, or how late it was, over many times: median, 99th percentile, maximum.
///
/// A High Dynamic Range histogram (hdrhistogram.org) from a microsecond to an hour: recording is an increment, memory
/// stays at 30 KB however much is recorded, and a percentile is right to 1 % of itself or a microsecond. What is
/// longer than an hour counts as an hour; the maximum is exact all the same.
///
/// A plain value: confine it to the task or actor that records, and copy it (or its figures) to show.
package struct LatencyHistogram: Sendable {
    private static let longest: UInt64 = 3_600_000_000_000

    private var histogram = Histogram<UInt64>(
        lowestDiscernibleValue: 1000, highestTrackableValue: longest, numberOfSignificantValueDigits: .two)

    /// The bounds of `counts`, in seconds: finer where a recorder and a publisher usually are.
    private static let bounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2.5, 10,
    ]

    /// The longest so far in nanoseconds; 0 before the first.
    package private(set) var maximum: Int64 = 0

    /// Nanoseconds of all together.
    private var total: Int64 = 0

    /// Nothing was recorded yet.
    package init() {}

    /// Counts one duration in nanoseconds. Less than 0, early rather than late, counts as 0.
    package mutating func record(nanoseconds: Int64) {
        maximum = max(maximum, nanoseconds)
        total &+= max(nanoseconds, 0)
        histogram.record(min(UInt64(max(nanoseconds, 0)), Self.longest))
    }

    /// How many were recorded.
    package var count: Int { Int(histogram.totalCount) }

    /// Half were at most so many nanoseconds; 0 before the first.
    package var median: Int64 { value(atPercentile: 50) }

    /// 99 of 100 were at most so many nanoseconds; 0 before the first.
    package var percentile99: Int64 { value(atPercentile: 99) }

    /// How many took at most how long, right to 1 % of the bounds.
    package var counts: HistogramCounts {
        let buckets = Self.bounds.map { bound in
            HistogramCounts.Bucket(bound: bound, count: Int(histogram.count(within: 0...UInt64(bound * 1e9))))
        }
        return HistogramCounts(buckets: buckets, count: count, sum: Double(total) / 1e9)
    }

    /// Forgets everything and keeps the memory.
    package mutating func reset() {
        histogram.reset()
        maximum = 0
        total = 0
    }

    private func value(atPercentile percentile: Double) -> Int64 {
        // A bucket's upper end can lie above everything that fell into it.
        count == 0 ? 0 : min(Int64(histogram.valueAtPercentile(percentile)), maximum)
    }
}
