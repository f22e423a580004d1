package import ArchiveStorage
import DequeModule
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// Finding sessions, including those that ended without an event or while no archiver ran.
extension Deliveries {
    /// How long a finished session, or one that waits for a point in time, is ignored by scans, in nanoseconds. It may have been
    /// removed, and another session of its name may have ended unnoticed.
    private static let settledTime: Int64 = 3_600_000_000_000

    /// Looks at all sessions now.
    package func scan(at now: Moment) {
        scanAt = now.monotonic
        advance(at: now)
    }

    /// Takes a recorder's event about the end of a session.
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
    /// - Parameter discarded: discarded sessions with remaining files.
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
                unlooked += queue.waitingForTime().filter { !known.contains($0) }
            }
            settled.subtract(discarded)
            unlooked += sessions.filter { !settled.contains($0) && !queue.contains($0) && !known.contains($0) }
            // No retry would notice that one was discarded, or delivered by another archiver.
            unlooked += queue.waitingForRequest().filter { !known.contains($0) }
            unlooked += discarded.filter { !unlooked.contains($0) }
        case .failure(let error):
            emit(.log(.error, "the search for sessions failed", [LogKey.error: "\(error)"]))
            emit(.failing("the search for sessions failed: \(error)", for: "scan"))
        }
        advance(at: now)
    }

    /// Takes a session's state on disk.
    package func looked(
        _ session: SessionIdentifier, _ outcome: Result<SessionView, RecordingError>, at now: Moment
    ) {
        guard looking == session else { return }
        looking = nil
        switch outcome {
        case .success(let view) where view.isDiscarded:
            settled.remove(session)
            if works[session] != nil {
                // The work in progress may leave files too.
                lookedTooEarly.insert(session)
            } else {
                // Removes the files even after earlier failures.
                queue.hurry(session, .settling)
            }
        case .success(let view):
            if let place = settings.policy.step(for: view, at: now.date).place {
                queue.note(session, place)
            } else {
                if works[session] == nil {
                    forgetFailure(of: session)
                } else if !view.exists, view.record == nil, view.receipt == nil {
                    // It was discarded, and the work in progress may leave files or a failure.
                    lookedTooEarly.insert(session)
                }
                if view.receipt != nil { settled.insert(session) }
                // Does not search the whole queue after each of thousands of finished sessions.
                if !unlooked.isEmpty { return advanceLooks(at: now) }
            }
        case .failure(let error):
            // The failure stays reported until it is resolved.
            queue.note(session, ArchiveStep.Place(lane: .settling))
            if works[session] == nil { queue.fail(session, ArchiveFailure(error), at: now) }
            reportFailures()
        }
        advance(at: now)
    }

    /// Drops failed work that is no longer needed, such as that for a discarded session: another may get its name.
    private func forgetFailure(of session: SessionIdentifier) {
        guard queue.failure(of: session) != nil else { return }
        endUpload(of: session)
        queue.finish(session, next: nil)
        reportFailures()
    }
}
