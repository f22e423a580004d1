package import ArchiveStorage
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// Choosing the sessions to work on. Each kind of work has a lane, so archives are made even while the receiver is unavailable.
extension Deliveries {
    /// How long a session claimed by another archiver is left alone.
    private static let claimPause = Duration.seconds(2)

    /// A session that is being worked on.
    struct Work {
        let lane: ArchiveLane
        var stage = Stage.claiming
        /// The session's state on disk under the claim.
        var view = SessionView()
    }

    /// The progress of the work on a session.
    enum Stage {
        case claiming
        case making
        case storingRecord(ArchiveRecord)
        case uploading
        case storingReceipt(ArchiveReceipt)
        /// A request to mark or remove files is pending at log-manager.
        case asking(Settling)
        /// Waiting for which files of the receipt, or of those that log-manager refused, exist.
        case finding(Settling)
        case storingMarks(ArchiveReceipt)
        case storingRemoval(ArchiveReceipt, bytes: Int)
        case removingArchives
        case discarding
    }

    func advanceWork(at now: Moment) {
        for lane in ArchiveLane.allCases {
            let room = lane == .uploading ? settings.uploads : 1
            while works.values.count(where: { $0.lane == lane }) < room,
                let session = queue.take(lane, at: now, where: { lane != .uploading || mayUpload($0) })
            {
                works[session] = Work(lane: lane)
                emit(.claim(session))
            }
        }
    }

    /// Takes the state of a claimed session; nil if another archiver has claimed it.
    package func claimed(
        _ session: SessionIdentifier, _ outcome: Result<SessionView?, RecordingError>, at now: Moment
    ) {
        guard case .claiming = works[session]?.stage else { return }
        switch outcome {
        case .success(let view?):
            works[session]?.view = view
            begin(session, view, at: now)
        case .success(nil):
            works[session] = nil
            queue.postpone(session, by: Self.claimPause, at: now)
        case .failure(let error): fail(session, ArchiveFailure(error), at: now)
        }
        advance(at: now)
    }

    /// Begins the next step of a session. Another archiver may already have done the expected one.
    private func begin(_ session: SessionIdentifier, _ view: SessionView, at now: Moment) {
        let step = settings.policy.step(for: view, at: now.date)
        if step != .upload { endUpload(of: session) }
        guard step.lane == works[session]?.lane else { return finish(session, view, at: now) }
        switch (step, view.record ?? view.earlier?.record, view.receipt ?? view.earlier?.receipt) {
        case (.make, _, _):
            works[session]?.stage = .making
            emit(.make(session))
        case (.upload, let record?, _): beginUpload(record, at: now)
        case (.refuse(let name), _, _): fail(session, .unencrypted(name), at: now)
        case (.spare(let name), _, _): fail(session, .earlier(name), at: now)
        case (.mark, _, let receipt?): beginMarks(receipt, at: now)
        case (.removeRecordings, _, let receipt?): beginRemoval(receipt)
        case (.removeArchives, _, let receipt?):
            works[session]?.stage = .removingArchives
            emit(.removeArchives(receipt))
        case (.discard, _, _):
            works[session]?.stage = .discarding
            emit(.discard(session))
        default: finish(session, view, at: now)
        }
    }

    /// Takes the removed archives of a discarded session.
    package func discarded(
        _ session: SessionIdentifier, _ outcome: Result<[String], RecordingError>, at now: Moment
    ) {
        guard case .discarding = works[session]?.stage else { return }
        switch outcome {
        case .success(let archives):
            log(.notice, "remains of a discarded session were removed", session, ["archives": "\(archives.count)"])
            for name in archives { publish(.removed, of: session, path: ArchiveDirectory.path(of: name), at: now) }
            finish(session, SessionView(), at: now)
        case .failure(let error): fail(session, ArchiveFailure(error), at: now)
        }
        advance(at: now)
    }

    /// Takes the archives that were made.
    package func made(
        _ session: SessionIdentifier, _ outcome: Result<ArchiveRecord, ArchiveFailure>, at now: Moment
    ) {
        guard case .making = works[session]?.stage else { return }
        switch outcome {
        case .success(let record):
            // The archives are announced only after this record is on disk.
            works[session]?.stage = .storingRecord(record)
            emit(.storeRecord(record))
        case .failure(let failure): fail(session, failure, at: now)
        }
        advance(at: now)
    }

    /// Takes the result of storing a record or a receipt.
    package func stored(_ session: SessionIdentifier, _ failure: RecordingError?, at now: Moment) {
        guard let work = works[session] else { return }
        if let failure {
            fail(session, ArchiveFailure(failure), at: now)
            return advance(at: now)
        }
        var view = work.view
        switch work.stage {
        case .storingRecord(let record):
            view.record = record
            view.archiveExists = true
            noteMade(record, at: now)
        case .storingReceipt(let receipt):
            view.deliver(receipt)
            noteDelivered(receipt, at: now)
        case .storingMarks(let receipt):
            view.receipt = receipt
            noteMarked(receipt, at: now)
        case .storingRemoval(let receipt, let bytes):
            view.receipt = receipt
            publish(.removed, of: session, bytes: bytes, at: now)
        default: return
        }
        finish(session, view, at: now)
        advance(at: now)
    }

    private func noteMade(_ record: ArchiveRecord, at now: Moment) {
        for archive in record.archives {
            totals.made.archives += 1
            totals.made.bytes += archive.bytes
            log(
                .notice, "archive made", record.session,
                ["archive": "\(archive.name)", "bytes": "\(archive.bytes)", "encrypted": "\(archive.isEncrypted)"])
            publish(archive.isEncrypted ? .encrypted : .made, of: record.session, archive, at: now)
        }
    }

    /// Ends the work on a session and schedules its next step.
    func finish(_ session: SessionIdentifier, _ view: SessionView, at now: Moment) {
        works[session] = nil
        let place = settings.policy.step(for: view, at: now.date).place
        queue.finish(session, next: place)
        if place == nil, view.receipt != nil { settled.insert(session) }
        emit(.release(session))
        lookAgainIfDiscarded(session)
        reportFailures()
    }

    private func lookAgainIfDiscarded(_ session: SessionIdentifier) {
        if lookedTooEarly.remove(session) != nil { unlooked.append(session) }
    }

    /// Ends the failed work on a session, which is retried as the failure specifies.
    /// - Parameter isCounted: whether the failure increases the next delay.
    func fail(_ session: SessionIdentifier, _ failure: ArchiveFailure, isCounted: Bool = true, at now: Moment) {
        works[session] = nil
        emit(.release(session))
        if failure.isRefusal { totals.refusals += 1 } else { totals.failures += 1 }
        let isNews = queue.failure(of: session) != failure
        queue.fail(session, failure, isCounted: isCounted && !failure.isAway, at: now)
        lookAgainIfDiscarded(session)
        reportFailures()
        // While log-manager is unavailable, reports this only once for each session.
        guard isNews || !failure.isAway else { return }
        log(
            .error, failure.isRefusal ? "a receiver or log-manager refused" : "no archive was made", session,
            ["code": "\(failure.code)", LogKey.error: "\(failure.reason)"])
        publish(failure.isRefusal ? .refused : .failed, of: session, failure: failure, at: now)
    }
}
