import MessageBus
import Messages
import Metrics
import RecorderCore
import Recording
import ServiceKit

/// What health has too.
extension Metric {
    static let commitLatency = Metric(
        .histogram, "holdfast_recorder_commit_latency_seconds", "From a batch's publication until it is on disk.",
        health: "commitLatency")
    static let behind = Metric(
        .gauge, "holdfast_recorder_behind_seconds",
        "Age of the newest batch when it is taken: how far the recorder is behind its publishers.",
        health: "behindSeconds")
}

/// What it counts, for those who watch it.
extension RecordingEngine {
    var metrics: MetricsPage {
        let now = Moment.now
        var page = MetricsPage()
        func add(_ name: String, _ help: String, _ value: Double?) {
            if let value { page.add(Metric(.gauge, "holdfast_recorder_\(name)", help), value) }
        }
        var totals = endedTotals
        for session in core.sessions.values { totals.add(session.report) }
        totals.add(to: &page)
        page.add(
            Metric(
                .histogram, "holdfast_recorder_commit_duration_seconds",
                "Duration of a commit: one write and one sync of the write-ahead log."), core.commitTimes)
        add("sessions", "Sessions under way.", Double(core.sessions.count))
        let ended = Metric(
            .counter, "holdfast_recorder_sessions_ended_total", "Sessions that ended, by their last status.",
            labels: ["status"])
        for status in [SessionStatus.finished, .cancelled, .failed] {
            page.add(ended, endedSessions[status] ?? 0, status.rawValue)
        }
        add(
            "unstored_sessions", "Sessions that are over and whose end could not be stored yet.",
            Double(core.unstored.count))
        let streams = core.sessions.values.flatMap(\.ordered)
        add(
            "held_batches", "Batches that wait for samples before them.",
            Double(streams.reduce(0) { $0 + $1.intake.heldCount }))
        add(
            "held_bytes", "Memory of the batches that wait for samples before them.",
            Double(streams.reduce(0) { $0 + $1.intake.heldBytes }))
        add(
            "recovering_streams", "Streams whose missing samples are being requested.",
            Double(streams.count { $0.recoveringSince != nil }))
        add(
            "backlog_bytes", "Bytes of the write-ahead log that are not in stream files yet.", Double(core.backlogBytes)
        )
        add("log_bytes", "Bytes of the write-ahead log on disk.", Double(core.logBytes))
        add(
            "recovery_lag_seconds",
            "Age of the oldest missing sample of all streams that are being recovered; 0 if there is none.",
            core.recoveryLag(at: now))
        add(
            "retention_left_seconds",
            "Time until the first missing sample leaves its publisher's retention; absent if none is missing or the retention is unknown.",
            core.shortage(at: now).map { max(0, $0.left) })
        if let freeBytes { page.add(.freeBytes, freeBytes) }
        return page
    }
}
