import Files
import Messages
import Recording
import Synchronization
import ZeroMQ

/// What is asked.
extension ArchiveEngine {
    /// Has a session archived and uploaded before others.
    func create(_ request: ArchiveCreate) throws -> ArchiveStatus {
        let session = try SessionIdentifier(request.session)
        let view = try knownView(of: session)
        guard view.isOver || view.record != nil || view.receipt != nil else {
            throw RequestError(
                .notOver, "session \(session) goes on, or is being finished: stop it first, then ask again")
        }
        try hurry(session, view)
        return status(of: session, view)
    }

    /// Where a session stands.
    func status(_ request: ArchiveStatusRequest) throws -> ArchiveStatus {
        let session = try SessionIdentifier(request.session)
        return status(of: session, try knownView(of: session))
    }

    /// Has what failed tried again now, and what log-manager refused asked once more.
    func retry(_ request: ArchiveRetry) throws -> ArchiveStatus {
        let session = try SessionIdentifier(request.session)
        var view = try knownView(of: session)
        if var receipt = view.receipt, receipt.unmarked != nil, receipt.removed == nil,
            let claim = try folder.claim(session)
        {
            receipt.marked = nil
            receipt.unmarked = nil
            try folder.write(receipt)
            withExtendedLifetime(claim) {}
            view.receipt = receipt
            settled.remove(session)
        }
        try hurry(session, view)
        return status(of: session, view)
    }

    /// Where sessions stand, by name.
    func list(_ request: ArchiveList) throws -> ArchiveList.Reply {
        let limit = request.limit ?? ArchiveList.maximumLimit
        guard (1...ArchiveList.maximumLimit).contains(limit) else {
            throw RequestError(.invalidParameter, "limit is \(limit): write 1 to \(ArchiveList.maximumLimit)")
        }
        let sessions = try folder.sessions(after: request.after ?? "", limit: limit + 1)
        return ArchiveList.Reply(
            archives: sessions.prefix(limit).map { session in
                do throws(RecordingError) {
                    return status(of: session, try folder.view(of: session))
                } catch {
                    return ArchiveStatus(session: session.text, state: .failed, reason: error.description)
                }
            }, more: sessions.count > limit ? true : nil)
    }

    private func hurry(_ session: SessionIdentifier, _ view: SessionView) throws {
        guard let lane = settings.policy.step(for: view, at: .now).lane else { return }
        queue.hurry(session, lane)
        wake()
    }

    private func knownView(of session: SessionIdentifier) throws -> SessionView {
        let view = try folder.view(of: session)
        guard view.exists || view.record != nil || view.receipt != nil else {
            throw RequestError(
                .unknownSession, "there is no session '\(session)'; archive.list has those that there are")
        }
        return view
    }

    private func status(of session: SessionIdentifier, _ view: SessionView) -> ArchiveStatus {
        let failure = queue.failure(of: session)
        let lane = queue.lane(of: session)
        let state: ArchiveStatus.State
        if let receipt = view.receipt {
            state = receipt.marked == nil ? .uploaded : .marked
        } else if lane == .uploading {
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
            receipt: view.receipt?.summary, reason: failure?.reason ?? retries.withLock { $0[session] })
    }
}
