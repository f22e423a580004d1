package import ArchiveStorage
package import Messages
package import Recording

/// Requests from clients.
extension Deliveries {
    /// Archives and uploads a session before others.
    package func create(
        _ session: SessionIdentifier, _ view: SessionView, at now: Moment
    ) throws(RequestError) -> ArchiveStatus {
        guard view.isOver || view.record != nil || view.receipt != nil else {
            throw RequestError(
                .notOver, "session \(session) is running or being finished: stop it first, then repeat the request")
        }
        guard !view.isCancelled || settings.policy.archivesCancelled || view.record != nil else {
            throw RequestError(
                .notRunning,
                "session \(session) was cancelled, and is archived only by an archiver with --archive-cancelled; discard it "
                    + "if its result is not needed")
        }
        return hurry(session, view, at: now)
    }

    /// Puts the next step of a session before others and makes it due now, despite earlier failures.
    package func hurry(_ session: SessionIdentifier, _ view: SessionView, at now: Moment) -> ArchiveStatus {
        if let lane = settings.policy.step(for: view, at: now.date).lane {
            settled.remove(session)
            queue.hurry(session, lane)
            advance(at: now)
        }
        return status(of: session, view)
    }

    /// The status of a session.
    package func status(of session: SessionIdentifier, _ view: SessionView) -> ArchiveStatus {
        let failure = queue.failure(of: session)
        let lane = queue.lane(of: session)
        let state: ArchiveStatus.State
        if let receipt = view.receipt {
            state = receipt.marked == nil ? .uploaded : .marked
        } else if lane == .uploading || uploads[session] != nil {
            state = .uploading
        } else if lane == .making {
            state = .archiving
        } else if failure != nil {
            state = .failed
        } else if view.record != nil, view.archiveExists {
            state = .archived
        } else {
            state = view.isOver ? .waiting : .recording
        }
        let first = view.archives.first
        return ArchiveStatus(
            session: session.text, state: state,
            path: view.archiveExists ? first.map { ArchiveDirectory.path(of: $0.name) } : nil,
            bytes: first == nil ? nil : view.archives.reduce(0) { $0 + $1.bytes }, sha256: first?.sha256,
            receipt: view.receipt?.summary,
            reason: failure?.reason ?? uploads[session]?.reason ?? Self.reason(for: view, settings.policy))
    }

    /// Why no step is taken for a session, or what its archives lack.
    private static func reason(for view: SessionView, _ policy: ArchivePolicy) -> String? {
        if let first = view.leftOut.first {
            return "\(view.leftOut.count.counted("file")) could not be archived: \(first)"
                + (view.leftOut.count > 1 ? " and others" : "")
        }
        return view.isCancelled && !policy.archivesCancelled && view.record == nil
            ? "it was cancelled, and --archive-cancelled was not given" : nil
    }
}
