package import Messages
import ServiceKit

/// What the recorder says of its sessions, and so what the lease carries of them.
extension Leadership {
    /// What changes a session's plan.
    private static let changes: Set<RecordingEvent.Change> = [.status, .step, .pause, .resume, .restart, .annotation]

    /// Takes an event of the recorder.
    package func take(_ event: RecordingEvent, at now: Int64) {
        guard isLeading else { return }
        let session = event.session
        if SessionStatus(rawValue: event.status)?.isOver == true || event.change == .discard {
            asking[session] = nil
            unplanned.remove(session)
            return noteEnd(of: session, at: now)
        }
        // The recorder does not know all of it yet.
        if continuing.contains(session) { return }
        guard Self.changes.contains(event.change) || !knows(session) || unplanned.contains(session) else { return }
        ask(for: session)
    }

    /// Asks for the plans of all sessions: what the recorder published until now may not have been heard.
    package func checkPlans() {
        for plan in sessions where !continuing.contains(plan.session) { ask(for: plan.session) }
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

    /// Takes the plan of a session.
    /// - Parameter reply: nil if the recorder did not answer.
    package func planned(_ session: String, _ reply: RecordingPlan.Reply?, at now: Int64) {
        // It has ended meanwhile, or so has the lease.
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
