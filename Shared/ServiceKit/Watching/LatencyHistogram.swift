import Histogram
package import Metrics

/// Statistics of durations or delays: median, 99th percentile, maximum.
///
/// A High Dynamic Range histogram (hdrhistogram.org) from a microsecond to an hour. Recording is an increment, memory stays at
/// 30 KB, and a percentile is exact to 1 % or a microsecond. A duration of more than an hour counts as an hour, but the maximum
/// is always exact.
///
/// A plain value: confine it to the task or actor that records, and copy it, or its figures, for display.
package struct LatencyHistogram: Sendable {
    private static let longest: UInt64 = 3_600_000_000_000

    private var histogram = Histogram<UInt64>(
        lowestDiscernibleValue: 1000, highestTrackableValue: longest, numberOfSignificantValueDigits: .two)

    /// The bounds of `counts`, in seconds: finer in the usual range of a recorder and a publisher.
    private static let bounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2.5, 10,
    ]

    /// The longest duration in nanoseconds; 0 if there is none.
    package private(set) var maximum: Int64 = 0

    /// The sum of all durations in nanoseconds.
    private var total: Int64 = 0

    package init() {}

    /// Records a duration in nanoseconds. A negative one, early rather than late, counts as 0.
    package mutating func record(nanoseconds: Int64) {
        maximum = max(maximum, nanoseconds)
        total &+= max(nanoseconds, 0)
        histogram.record(min(UInt64(max(nanoseconds, 0)), Self.longest))
    }

    package var count: Int { Int(histogram.totalCount) }

    /// The median in nanoseconds; 0 if nothing is recorded.
    package var median: Int64 { value(atPercentile: 50) }

    /// The 99th percentile in nanoseconds; 0 if nothing is recorded.
    package var percentile99: Int64 { value(atPercentile: 99) }

    /// Cumulative counts, exact to 1 % of the bounds.
    package var counts: HistogramCounts {
        let buckets = Self.bounds.map { bound in
            HistogramCounts.Bucket(bound: bound, count: Int(histogram.count(within: 0...UInt64(bound * 1e9))))
        }
        return HistogramCounts(buckets: buckets, count: count, sum: Double(total) / 1e9)
    }

    /// Removes all durations and keeps the memory.
    package mutating func reset() {
        histogram.reset()
        maximum = 0
        total = 0
    }

    private func value(atPercentile percentile: Double) -> Int64 {
        // A bucket's upper end can be above all its values.
        count == 0 ? 0 : min(Int64(histogram.valueAtPercentile(percentile)), maximum)
    }
}
