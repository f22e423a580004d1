import Messages
import Metrics
import ServiceKit

/// What sessions had of their streams, in all.
struct StreamTotals {
    static let counters: [(metric: Metric, count: @Sendable (SessionReport.Stream) -> Int)] = [
        counter(
            "holdfast_recorder_received_samples_total",
            "Samples received for sessions, live or by replay; a resumed session includes what it had before."
        ) { $0.received },
        counter("holdfast_recorder_recovered_samples_total", "Of those, samples received by replay.") { $0.recovered },
        counter(
            "holdfast_recorder_lost_samples_total", "Samples lost and not recoverable from the publisher."
        ) { $0.lost },
        counter(
            "holdfast_recorder_paused_samples_total", "Samples left out because the session was paused."
        ) { $0.paused },
        counter(
            "holdfast_recorder_duplicate_samples_total", "Samples that arrived once more, and were written once."
        ) { $0.duplicates },
        counter(
            "holdfast_recorder_gaps_total", "Runs of samples lost and not recoverable from the publisher."
        ) { $0.gaps.count },
        counter("holdfast_recorder_log_bytes_total", "Bytes written to log files.") { $0.bytes },
    ]

    private static func counter(
        _ name: String, _ help: String, _ count: @escaping @Sendable (SessionReport.Stream) -> Int
    ) -> (metric: Metric, count: @Sendable (SessionReport.Stream) -> Int) {
        (Metric(.counter, name, help, labels: Metric.streamLabels), count)
    }

    /// Streams that are told apart; those that come after them are counted as one.
    private static let maximumStreams = 4_096
    private static let others = StreamName(device: "other", stream: "other")

    /// By stream, in the order of `counters`.
    private(set) var counts: [StreamName: [Int]] = [:]

    mutating func add(_ report: SessionReport) {
        for stream in report.streams {
            let isTold = counts[stream.stream] != nil || counts.count < Self.maximumStreams
            let name = isTold ? stream.stream : Self.others
            // As many may be lost as a publisher says, which can be more than there are numbers.
            counts[name] = Self.counters.enumerated().map { index, counter in
                (counts[name]?[index] ?? 0).addingClamped(counter.count(stream))
            }
        }
    }
}
