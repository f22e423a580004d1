import Messages
import Metrics
import ServiceKit

/// Totals of the streams of sessions.
struct StreamTotals {
    private typealias Count = any KeyPath<SessionReport.Stream, Int> & Sendable

    private static let counters: [(name: String, help: String, count: Count)] = [
        (
            "received_samples",
            "Samples received for sessions, live or by replay; a resumed session includes what it had before.",
            \.received
        ), ("recovered_samples", "Samples received by replay, included in the received samples.", \.recovered),
        ("lost_samples", "Samples lost and not recoverable from the publisher.", \.lost),
        ("paused_samples", "Samples left out because of a pause, or of the stream's steps.", \.paused),
        ("duplicate_samples", "Samples that arrived more than once, and were written once.", \.duplicates),
        ("gaps", "Runs of samples lost and not recoverable from the publisher.", \.gaps.count),
        ("log_bytes", "Bytes written to stream files.", \.bytes),
    ]

    /// Most streams that are counted separately; further ones are counted as one.
    static let maximumStreams = 4_096
    private static let others = StreamName(device: "other", stream: "other")

    /// By stream, in the order of `counters`.
    private var counts: [StreamName: [Int]] = [:]

    mutating func add(_ report: SessionReport) {
        for stream in report.streams {
            let isTold = counts[stream.stream] != nil || counts.count < Self.maximumStreams
            let name = isTold ? stream.stream : Self.others
            // A publisher can report so many lost samples that a sum overflows.
            counts[name] = Self.counters.enumerated().map { index, counter in
                (counts[name]?[index] ?? 0).addingClamped(stream[keyPath: counter.count])
            }
        }
    }

    func add(to page: inout MetricsPage) {
        for (stream, counts) in counts.sorted(by: { $0.key.description < $1.key.description }) {
            for (counter, count) in zip(Self.counters, counts) {
                let name = "holdfast_recorder_\(counter.name)_total"
                page.add(Metric(.counter, name, counter.help, labels: Metric.streamLabels), count, of: stream)
            }
        }
    }
}
