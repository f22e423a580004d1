package import Messages
import Metrics

extension LatencyHistogram {
    /// The recorded durations for a session's report. Bounds above the maximum are left out.
    package var reported: SessionReport.Latency {
        let counts = counts
        let last = counts.buckets.firstIndex { $0.count == counts.count } ?? counts.buckets.endIndex - 1
        let buckets = counts.buckets[...last].map { SessionReport.Latency.Bucket(bound: $0.bound, count: $0.count) }
        return SessionReport.Latency(
            count: count, median: Double(median) / 1e9, p99: Double(percentile99) / 1e9, maximum: Double(maximum) / 1e9,
            buckets: count > 0 ? buckets : nil)
    }
}
