package import Messages
import ServiceKit

/// Recorder events, and the session plans that the lease carries because of them.
extension Leadership {
    /// Events that change a session's plan.
    private static let changes: Set<RecordingEvent.Change> = [.status, .step, .pause, .resume, .restart, .annotation]

    package func take(_ event: RecordingEvent, at now: Int64) {
        guard isLeading else { return }
        let session = event.session
        // The recorder does not know the complete session yet. Its reply shows whether the session is over.
        if continuing.contains(session), event.change != .discard { return }
        if SessionStatus(rawValue: event.status)?.isOver == true || event.change == .discard {
            // The event is about an older session of the same name, or this recorder failed to continue the session: the next one
            // may not. A discard holds for all machines.
            if left.contains(session), older.contains(session) || event.change != .discard { return }
            left.remove(session)
            asking[session] = nil
            unplanned.remove(session)
            return noteEnd(of: session, at: now)
        }
        if isRecording { left.remove(session) }
        guard Self.changes.contains(event.change) || !knows(session) || unplanned.contains(session) else { return }
        ask(for: session)
    }

    /// Requests the plans of all sessions, because events published before this call may have been missed.
    package func checkPlans() {
        for plan in sessions where !left.contains(plan.session) { ask(for: plan.session) }
    }

    func ask(for session: String) {
        unplanned.remove(session)
        if asking[session] != nil {
            asking[session] = true
        } else {
            asking[session] = false
            emit(.plan(session))
        }
    }

    /// Takes a session's plan.
    /// - Parameter reply: nil if the recorder did not answer.
    package func planned(_ session: String, _ reply: RecordingPlan.Reply?, at now: Int64) {
        // The session ended in the meantime, or this machine lost the lease.
        guard let isStale = asking.removeValue(forKey: session), isLeading else { return }
        if let reply {
            if SessionStatus(rawValue: reply.status)?.isOver == true {
                noteEnd(of: session, at: now)
            } else {
                note(reply.plan, at: now)
            }
        } else {
            unplanned.insert(session)
        }
        if isStale { ask(for: session) }
    }
}
