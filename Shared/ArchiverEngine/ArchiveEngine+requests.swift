import ArchiveStorage
import ArchiverCore
import Files
import Messages
import Recording
import Runtime

/// Requests from clients.
extension ArchiveEngine {
    /// Archives and uploads a session before others.
    func create(_ request: ArchiveCreate) throws -> ArchiveStatus {
        let session = try SessionIdentifier(request.session)
        defer { perform() }
        return try core.create(session, knownView(of: session), at: now)
    }

    func status(_ request: ArchiveStatusRequest) throws -> ArchiveStatus {
        let session = try SessionIdentifier(request.session)
        return core.status(of: session, try knownView(of: session))
    }

    /// Retries a failed step now, and has log-manager mark the files again.
    func retry(_ request: ArchiveRetry) throws -> ArchiveStatus {
        let session = try SessionIdentifier(request.session)
        var view = try knownView(of: session)
        if let receipt = view.receipt?.askingAgain, let claim = try folder.claim(session) {
            try folder.write(receipt)
            withExtendedLifetime(claim) {}
            view.receipt = receipt
        }
        defer { perform() }
        return core.hurry(session, view, at: now)
    }

    /// The status of sessions, by name.
    func list(_ request: ArchiveList) throws -> ArchiveList.Reply {
        let limit = request.limit ?? ArchiveList.maximumLimit
        guard (1...ArchiveList.maximumLimit).contains(limit) else {
            throw RequestError(.invalidParameter, "limit is \(limit): write 1 to \(ArchiveList.maximumLimit)")
        }
        let sessions = try folder.sessions(after: request.after ?? "", limit: limit + 1)
        return ArchiveList.Reply(
            archives: sessions.prefix(limit).map { session in
                do throws(RecordingError) {
                    return core.status(of: session, try folder.view(of: session, at: now.date))
                } catch {
                    return ArchiveStatus(session: session.text, state: .failed, reason: error.description)
                }
            }, more: sessions.count > limit ? true : nil)
    }

    private func knownView(of session: SessionIdentifier) throws -> SessionView {
        let view = try folder.view(of: session, at: now.date)
        guard view.exists || view.record != nil || view.receipt != nil else {
            throw RequestError(
                .unknownSession, "there is no session '\(session)'; archive.list lists the existing ones")
        }
        return view
    }
}
