import Files
import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What is looked for: sessions for which something is to be done.
extension ArchiveEngine {
    /// Takes events of recorders.
    func take(_ batch: MessageBatch) {
        var ended: Set<String> = []
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let event = try EventFrames(message, of: messages).decode(RecordingEvent.self)
                    if SessionStatus(rawValue: event.status)?.isOver ?? false { ended.insert(event.session) }
                } catch {
                    malformed.note(error)
                }
            }
        }
        for session in ended.sorted() {
            if let session = try? SessionIdentifier(session) { look(at: session) }
        }
    }

    /// Looks at all sessions now and then, until the task is cancelled: they end while no archiver runs, or without a word.
    func scanRegularly() async throws {
        while true {
            await scan()
            try await thread.sleep(until: MonotonicClock.now + settings.rescanInterval.nanoseconds)
        }
    }

    /// Looks at all sessions.
    func scan() async {
        do throws(RecordingError) {
            try folder.removeLeftovers(at: .now)
            let sessions = try folder.sessions()
            health.clear("scan")
            for session in sessions where !settled.contains(session) && !queue.contains(session) {
                look(at: session)
                // Requests have their turn in between.
                await Task.yield()
            }
        } catch {
            logger.error("sessions could not be looked for", metadata: [LogKey.error: "\(error)"])
            health.report(.failing, "sessions could not be looked for: \(error)", for: "scan")
        }
    }

    /// Looks at a session, and has done what is next.
    func look(at session: SessionIdentifier) {
        let now = MonotonicClock.now
        do throws(RecordingError) {
            let view = try folder.view(of: session)
            let step = settings.policy.step(for: view, at: .now)
            if let (lane, delay) = Self.place(of: step) {
                queue.note(session, lane, after: delay, at: now)
                wake()
            } else if view.receipt != nil {
                settled.insert(session)
            }
        } catch {
            // Somebody may look at what is wrong; it says so as long as it is.
            queue.note(session, .settling, at: now)
            queue.fail(session, ArchiveFailure(error), at: now)
            reportFailures()
        }
    }

    /// Who does a step, and after which time; `nil` where there is nothing to be done.
    static func place(of step: ArchiveStep) -> (lane: ArchiveLane, delay: Duration)? {
        if case .later(let date) = step {
            let wait = date.nanosecondsSince1970 - WallTime.now.nanosecondsSince1970
            return (.settling, .nanoseconds(max(wait, 0)))
        }
        return step.lane.map { ($0, .zero) }
    }
}
