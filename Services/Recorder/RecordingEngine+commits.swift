import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What becomes durable: group commits at a fixed rhythm.
extension RecordingEngine {
    /// Commits what was written, at each tick of the sync interval, until the task is cancelled.
    func commitRegularly() async throws {
        let interval = settings.syncInterval.nanoseconds
        var tick = MonotonicClock.now
        while true {
            // Ticks lie on a grid, so that a slow disk does not stretch the rhythm; those that passed meanwhile are skipped.
            tick += interval * (1 + max(0, (MonotonicClock.now - tick) / interval))
            try await thread.sleep(until: tick)
            for session in Array(sessions.values) {
                if let deadline = session.deadline, MonotonicClock.now >= deadline, session.status == .running {
                    ordering.yield(.stop(session: session.identifier))
                }
                if session.isRecording { await commit(session) }
            }
        }
    }

    /// Makes everything written so far durable.
    /// - Parameter isLast: return only when commits that began earlier are over too.
    func commit(_ session: Session, isLast: Bool = false) async {
        var published: [Int64] = []
        swap(&published, &session.uncommitted)
        do {
            let points = try session.order.compactMap { try session.streams[$0]?.commitPoint(at: .now) }
            guard isLast || !points.isEmpty else { return }
            try await session.commits.commit(points)
        } catch {
            fail(session, error)
            return
        }
        let now = WallTime.now.nanosecondsSince1970
        for time in published { session.latencies.record(nanoseconds: now - time) }
        health.measure("commitLatencyMedianSeconds", Double(session.latencies.median) / 1e9)
        health.measure("commitLatency99PercentSeconds", Double(session.latencies.percentile99) / 1e9)
    }
}
