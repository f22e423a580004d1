import MessageBus
import Messages
import Metrics
import RecorderCore
import Recording
import Runtime
import ServiceKit

extension Metric {
    fileprivate static let commitLatency = Metric(
        .histogram, "holdfast_recorder_commit_latency_seconds", "Time from a batch's publication until it is on disk.",
        health: "commitLatency")
    fileprivate static let behind = Metric(
        .gauge, "holdfast_recorder_behind_seconds",
        "Age of the newest batch when it is taken: how far the recorder is behind its publishers.",
        health: "behindSeconds")
    fileprivate static let commitDuration = Metric(
        .histogram, "holdfast_recorder_commit_duration_seconds",
        "Duration of a commit: one write and one sync of the write-ahead log.")
    fileprivate static let sessions = Metric(.gauge, "holdfast_recorder_sessions", "Sessions under way.")
    fileprivate static let ended = Metric(
        .counter, "holdfast_recorder_sessions_ended_total", "Sessions that ended, by their last status.",
        labels: ["status"])
    fileprivate static let unstored = Metric(
        .gauge, "holdfast_recorder_unstored_sessions",
        "Sessions that are over and whose end could not be stored yet.")
    fileprivate static let heldBatches = Metric(
        .gauge, "holdfast_recorder_held_batches", "Batches that wait for samples before them.")
    fileprivate static let heldBytes = Metric(
        .gauge, "holdfast_recorder_held_bytes", "Memory of the batches that wait for samples before them.")
    fileprivate static let recovering = Metric(
        .gauge, "holdfast_recorder_recovering_streams", "Streams whose missing samples are being requested.")
    fileprivate static let backlog = Metric(
        .gauge, "holdfast_recorder_backlog_bytes", "Bytes of the write-ahead log that are not in stream files yet.",
        health: "backlogBytes")
    fileprivate static let logBytes = Metric(
        .gauge, "holdfast_recorder_log_bytes", "Bytes of the write-ahead log on disk.")
    fileprivate static let recoveryLag = Metric(
        .gauge, "holdfast_recorder_recovery_lag_seconds",
        "Age of the oldest missing sample of all streams that are being recovered; 0 if there is none.")
    fileprivate static let retentionLeft = Metric(
        .gauge, "holdfast_recorder_retention_left_seconds",
        "Time until the first missing sample leaves its publisher's retention; absent if none is missing or the retention is unknown."
    )
    fileprivate static let lastSample = Metric(
        .gauge, "holdfast_recorder_last_sample_timestamp_seconds",
        "Time of a recorded stream's last sample, in seconds since 1970 in UTC; absent while the stream is left out.",
        labels: streamLabels)
    fileprivate static let rate = Metric(
        .gauge, "holdfast_recorder_nominal_rate_hertz",
        "Samples per second that a recorded stream's publisher declares; absent if none, or while it is left out.",
        labels: streamLabels)
    fileprivate static let clockOffset = Metric(
        .gauge, "holdfast_recorder_clock_offset_seconds",
        "Time by which a publisher's clock was ahead of the recorder's when they were last compared.",
        labels: ["publisher"])
}

/// The recorder's metrics.
extension RecordingEngine {
    func measure() {
        health.measure(.commitLatency, core.latencies)
        health.measure(.behind, core.lag.seconds)
        health.measure(.commitDuration, core.commitTimes)
        health.measure(.sessions, core.sessions.count)
        for status in [SessionStatus.finished, .cancelled, .failed] {
            health.measure(.ended, endedSessions[status] ?? 0, status.rawValue)
        }
        health.measure(.unstored, core.unstored.count)
        health.measure(.backlog, core.backlogBytes)
        health.measure(.logBytes, core.logBytes)
        health.measure(.freeBytes, core.freeBytes)
    }

    var metrics: MetricsPage {
        let now = now
        var page = MetricsPage()
        var totals = endedTotals
        for session in core.sessions.values { totals.add(session.report) }
        totals.add(to: &page)
        let streams = core.sessions.values.flatMap(\.ordered)
        page.add(.heldBatches, streams.reduce(0) { $0 + $1.intake.heldCount })
        page.add(.heldBytes, streams.reduce(0) { $0 + $1.intake.heldBytes })
        page.add(.recovering, streams.count { $0.recoveringSince != nil })
        page.add(.recoveryLag, core.recoveryLag(at: now))
        if let shortage = core.shortage(at: now) { page.add(.retentionLeft, max(0, shortage.left)) }
        add(streams, to: &page)
        let offsets = clockOffsets.sorted { $0.key < $1.key }
        for (publisher, offset) in offsets.prefix(StreamTotals.maximumStreams) {
            page.add(.clockOffset, offset, publisher)
        }
        return page
    }

    /// Adds the values of each recorded stream once: sessions may share a stream. A stream that is left out, as in a
    /// pause, has none: it would look silent, and its publisher may be switched off.
    private func add(_ streams: [StreamRecording], to page: inout MetricsPage) {
        let named = Dictionary(grouping: streams.filter { !$0.isLeftOut }, by: \.name)
            .sorted { $0.key.description < $1.key.description }
        for (name, recordings) in named.prefix(StreamTotals.maximumStreams) {
            let rate = recordings.lazy.compactMap { $0.log.record.rate(of: $0.log.epochs.last?.record) }.first
            if let rate { page.add(.rate, rate, of: name) }
            guard let last = recordings.compactMap(\.lastSampleDate).max() else { continue }
            page.add(.lastSample, last.seconds, of: name)
        }
    }

    /// Seconds that each publisher's clock was ahead at the last comparison in a current session.
    private var clockOffsets: [String: Double] {
        let comparisons = core.sessions.values.flatMap(\.record.clocks).sorted { $0.date < $1.date }
        return Dictionary(comparisons.map { ($0.endpoint, $0.offset) }, uniquingKeysWith: { _, last in last })
    }
}
