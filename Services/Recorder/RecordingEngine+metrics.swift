import MessageBus
import Messages
import Metrics
import Recording
import ServiceKit

extension Metric {
    fileprivate static let commitLatency = Metric(
        .histogram, "holdfast_recorder_commit_latency_seconds", "From a batch's publication until it is on disk.")
    fileprivate static let commitTime = Metric(
        .histogram, "holdfast_recorder_commit_duration_seconds",
        "Duration of a commit: one write and one sync of the write-ahead log.")
    fileprivate static let sessions = Metric(.gauge, "holdfast_recorder_sessions", "Sessions under way.")
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
    fileprivate static let behind = Metric(
        .gauge, "holdfast_recorder_behind_seconds",
        "Age of the newest batch when it is taken: how far the recorder is behind its publishers.")
    fileprivate static let backlogBytes = Metric(
        .gauge, "holdfast_recorder_backlog_bytes", "Bytes of the write-ahead log that are not in stream files yet.")
    fileprivate static let logBytes = Metric(
        .gauge, "holdfast_recorder_log_bytes", "Bytes of the write-ahead log on disk.")
    fileprivate static let recoveryLag = Metric(
        .gauge, "holdfast_recorder_recovery_lag_seconds",
        "Age of the oldest missing sample of all streams that are being recovered; 0 if there is none.")
    fileprivate static let retentionLeft = Metric(
        .gauge, "holdfast_recorder_retention_left_seconds",
        "Time until the first missing sample leaves its publisher's retention; absent if none is missing or the retention is unknown."
    )
}

/// What it counts, for those who watch it.
extension RecordingEngine {
    var metrics: MetricsPage {
        var page = MetricsPage()
        var totals = endedTotals
        for session in sessions.values { totals.add(session.report) }
        for (stream, counts) in totals.counts.sorted(by: { $0.key.description < $1.key.description }) {
            for (counter, count) in zip(StreamTotals.counters, counts) { page.add(counter.metric, count, of: stream) }
        }
        page.add(.commitLatency, latencies)
        page.add(.commitTime, commitTimes)
        page.add(.sessions, sessions.count)
        for status in [SessionStatus.finished, .cancelled, .failed] {
            page.add(.ended, endedSessions[status] ?? 0, status.rawValue)
        }
        page.add(.unstored, unstored.count)
        let streams = sessions.values.flatMap(\.ordered)
        page.add(.held, streams.reduce(0) { $0 + $1.intake.heldCount })
        page.add(.heldBytes, streams.reduce(0) { $0 + $1.intake.heldBytes })
        page.add(.recovering, streams.count { $0.recoveringSince != nil })
        page.add(.behind, lag.seconds)
        page.add(.backlogBytes, backlogBytes)
        page.add(.logBytes, logBytes)
        page.add(.recoveryLag, recoveryLag)
        if let shortage { page.add(.retentionLeft, max(0, shortage.left)) }
        if let freeBytes { page.add(.freeBytes, freeBytes) }
        return page
    }
}
