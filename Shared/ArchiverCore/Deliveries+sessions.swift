package import ArchiveStorage
import DequeModule
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// Which sessions there are: they end while no archiver runs, or without an event.
extension Deliveries {
    /// How long nothing is left to be done for a session before it is looked at again, in nanoseconds: it may have been removed, and
    /// another one of its name ended unheard.
    private static let settledTime: Int64 = 3_600_000_000_000

    /// Looks at all sessions now.
    package func scan(at now: Moment) {
        scanAt = now.monotonic
        advance(at: now)
    }

    /// Takes the end of a session that a recorder published.
    package func ended(_ session: SessionIdentifier, at now: Moment) {
        if !unlooked.contains(session) { unlooked.prepend(session) }
        advance(at: now)
    }

    func advanceLooks(at now: Moment) {
        guard !isScanning, looking == nil else { return }
        if let session = unlooked.popFirst() {
            looking = session
            emit(.look(session))
        } else if let scanAt, scanAt <= now.monotonic {
            self.scanAt = nil
            isScanning = true
            emit(.scan)
        }
    }

    /// Takes the list of all sessions.
    /// - Parameter discarded: sessions that were discarded, and of which something is left.
    package func scanned(
        _ outcome: Result<[SessionIdentifier], RecordingError>, discarded: [SessionIdentifier] = [], at now: Moment
    ) {
        isScanning = false
        scanAt = scanAt ?? now.monotonic.adding(settings.rescanInterval)
        switch outcome {
        case .success(let sessions):
            emit(.clear("scan"))
            let known = Set(unlooked)
            if now.monotonic >= forgetAt {
                settled = []
                forgetAt = now.monotonic.adding(Self.settledTime)
            }
            settled.subtract(discarded)
            unlooked += sessions.filter { !settled.contains($0) && !queue.contains($0) && !known.contains($0) }
            unlooked += discarded.filter { !unlooked.contains($0) }
        case .failure(let error):
            emit(.log(.error, "sessions could not be looked for", [LogKey.error: "\(error)"]))
            emit(.failing("sessions could not be looked for: \(error)", for: "scan"))
        }
        advance(at: now)
    }

    /// Takes what is on disk of a session.
    package func looked(
        _ session: SessionIdentifier, _ outcome: Result<SessionView, RecordingError>, at now: Moment
    ) {
        guard looking == session else { return }
        looking = nil
        switch outcome {
        case .success(let view) where view.isDiscarded:
            settled.remove(session)
            if works[session] != nil {
                // What is being done may leave something too.
                lookedTooEarly.insert(session)
            } else {
                // Whatever failed before.
                queue.hurry(session, .settling)
            }
        case .success(let view):
            if let place = settings.policy.step(for: view, at: now.date).place {
                queue.note(session, place)
            } else {
                if view.receipt != nil { settled.insert(session) }
                // All that wait are not gone through for each of thousands of sessions for which nothing is to be done.
                if !unlooked.isEmpty { return advanceLooks(at: now) }
            }
        case .failure(let error):
            // The reason is reported as long as it is so.
            queue.note(session, ArchiveStep.Place(lane: .settling))
            if works[session] == nil { queue.fail(session, ArchiveFailure(error), at: now) }
            reportFailures()
        }
        advance(at: now)
    }
}
