import MessageBus
import Messages
import Metrics
import Recording
import ServiceKit

extension Metric {
    fileprivate static let received = Metric(
        .counter, "holdfast_recorder_received_samples_total",
        "Samples that arrived for sessions, at first or asked for again; a session that was gone on with brings its own along.",
        labels: streamLabels)
    fileprivate static let recovered = Metric(
        .counter, "holdfast_recorder_recovered_samples_total", "Of those, the ones that had to be asked for again.",
        labels: streamLabels)
    fileprivate static let lost = Metric(
        .counter, "holdfast_recorder_lost_samples_total", "Samples that could not be had.", labels: streamLabels)
    fileprivate static let paused = Metric(
        .counter, "holdfast_recorder_paused_samples_total", "Samples left out because the session was paused.",
        labels: streamLabels)
    fileprivate static let duplicates = Metric(
        .counter, "holdfast_recorder_duplicate_samples_total", "Samples that arrived once more, and were written once.",
        labels: streamLabels)
    fileprivate static let gaps = Metric(
        .counter, "holdfast_recorder_gaps_total", "Runs of samples that could not be had.", labels: streamLabels)
    fileprivate static let bytes = Metric(
        .counter, "holdfast_recorder_log_bytes_total", "Bytes written to log files.", labels: streamLabels)
    fileprivate static let commitLatency = Metric(
        .histogram, "holdfast_recorder_commit_latency_seconds", "From a batch's publication until it is on disk.")
    fileprivate static let commitTime = Metric(
        .histogram, "holdfast_recorder_commit_duration_seconds",
        "How long a group commit took: syncs of logs and journals, and hashing.")
    fileprivate static let sessions = Metric(
        .gauge, "holdfast_recorder_sessions", "Sessions under way.")
    fileprivate static let ended = Metric(
        .counter, "holdfast_recorder_sessions_ended_total", "Sessions that ended, by their last status.",
        labels: ["status"])
    fileprivate static let unstored = Metric(
        .gauge, "holdfast_recorder_unstored_sessions", "Sessions that are over and whose end could not be stored yet.")
    fileprivate static let held = Metric(
        .gauge, "holdfast_recorder_held_batches", "Batches that wait for samples before them.")
    fileprivate static let heldBytes = Metric(
        .gauge, "holdfast_recorder_held_bytes", "Memory of the batches that wait for samples before them.")
    fileprivate static let recovering = Metric(
        .gauge, "holdfast_recorder_recovering_streams", "Streams whose missing samples are being asked for.")
}

/// What it counts, for those who watch it.
extension RecordingEngine {
    var metrics: MetricsPage {
        var page = MetricsPage()
        var totals = endedTotals
        for session in sessions.values { totals.add(session.report) }
        for (name, counts) in totals.streams.sorted(by: { $0.key.description < $1.key.description }) {
            page.add(.received, counts.received, of: name)
            page.add(.recovered, counts.recovered, of: name)
            page.add(.lost, counts.lost, of: name)
            page.add(.paused, counts.paused, of: name)
            page.add(.duplicates, counts.duplicates, of: name)
            page.add(.gaps, counts.gaps, of: name)
            page.add(.bytes, counts.bytes, of: name)
        }
        page.add(.commitLatency, latencies)
        page.add(.commitTime, commitTimes)
        page.add(.sessions, sessions.count)
        for status in [SessionStatus.finished, .cancelled, .failed] {
            page.add(.ended, endedSessions[status] ?? 0, status.name)
        }
        page.add(.unstored, unstored.count)
        let streams = sessions.values.flatMap(\.streams.values)
        page.add(.held, streams.reduce(0) { $0 + $1.intake.heldCount })
        page.add(.heldBytes, streams.reduce(0) { $0 + $1.intake.heldBytes })
        page.add(.recovering, streams.count(where: \.isRecovering))
        if let freeBytes { page.add(.freeBytes, freeBytes) }
        return page
    }
}
