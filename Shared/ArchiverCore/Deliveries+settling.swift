package import ArchiveStorage
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// The steps after a receipt: marking stream files through log-manager, and removing expired local copies.
extension Deliveries {
    /// How long log-manager is not contacted after a missing reply, so that a thousand sessions do not wait for it in turn.
    package static let awayPause = Duration.seconds(10)
    /// The pause after all recordings were missing.
    private static let missingPause = Duration.seconds(600)
    /// How often refused files are marked again: log-manager may not have seen them yet.
    private static let markAttempts = 5
    /// The number of files in a request, which keeps it below `RequestRouter.maximumRequestSize`.
    private static let batchSize = 500

    /// Files of a receipt to be marked or removed through log-manager.
    struct Settling {
        let receipt: ArchiveReceipt
        let isRemoval: Bool
        /// The remaining requests; the first one is pending.
        var requests: [LogManagerRequest] = []
        var refused: [LogFileOutcome.Refusal] = []
        /// Only for a removal: the sizes of the files to remove, by path; nil until they are known.
        var bytes: [String: Int]?
    }

    func beginMarks(_ receipt: ArchiveReceipt, at now: Moment) {
        var settling = Settling(receipt: receipt, isRemoval: false)
        for archive in receipt.archives {
            let files = receipt.files.filter { $0.archive == archive.archive.name }.map {
                LogsMarkUploaded.File(path: path(of: $0, receipt), bytes: $0.bytes, sha256: $0.sha256)
            }
            settling.requests += files.batches(of: Self.batchSize).map {
                .mark(Array($0), receipt: receipt.mark(for: archive))
            }
        }
        ask(settling, at: now)
    }

    func beginRemoval(_ receipt: ArchiveReceipt) {
        let unmarked = Set((receipt.unmarked ?? []).map(\.path))
        let paths = receipt.files.map { path(of: $0, receipt) }.filter { !unmarked.contains($0) }
        find(paths, Settling(receipt: receipt, isRemoval: true))
    }

    private func find(_ paths: [String], _ settling: Settling) {
        works[settling.receipt.session]?.stage = .finding(settling)
        emit(.find(settling.receipt.session, paths))
    }

    /// Sends the next request, or ends the step.
    private func ask(_ settling: Settling, at now: Moment) {
        let session = settling.receipt.session
        guard let request = settling.requests.first else {
            // A missing file needs neither a mark nor a removal.
            return settling.refused.isEmpty
                ? conclude(settling, at: now) : find(settling.refused.map(\.path), settling)
        }
        guard now.monotonic >= awayUntil else {
            return fail(session, .away(settings.logManager, after: Self.awayPause), at: now)
        }
        works[session]?.stage = .asking(settling)
        emit(.ask(session, request))
    }

    /// Takes the files that log-manager refused in one request.
    package func answered(
        _ session: SessionIdentifier, _ outcome: Result<[LogFileOutcome.Refusal], ArchiveFailure>, at now: Moment
    ) {
        guard case .asking(var settling) = works[session]?.stage else { return }
        switch outcome {
        case .success(let refused):
            settling.requests.removeFirst()
            settling.refused += refused
            ask(settling, at: now)
        case .failure(let failure):
            if failure.isAway {
                awayUntil = now.monotonic.adding(Int64(Self.awayPause / .nanoseconds(1)))
            }
            fail(session, failure, at: now)
        }
        advance(at: now)
    }

    /// Takes the existing files among those that were searched for.
    package func found(
        _ session: SessionIdentifier, _ outcome: Result<Set<String>, RecordingError>, at now: Moment
    ) {
        guard case .finding(let settling) = works[session]?.stage else { return }
        switch outcome {
        case .success(let paths): found(paths, settling, at: now)
        case .failure(let error):
            // Not counted: when the files are back, log-manager may not have seen them yet.
            fail(
                session,
                ArchiveFailure(
                    code: error.code.rawValue, reason: error.description, retry: .after(Self.missingPause),
                    isRefusal: true), isCounted: false, at: now)
        }
        advance(at: now)
    }

    private func found(_ paths: Set<String>, _ settling: Settling, at now: Moment) {
        var settling = settling
        if settling.isRemoval, settling.bytes == nil {
            let files = settling.receipt.files.filter { paths.contains(path(of: $0, settling.receipt)) }
            settling.bytes = Dictionary(files.map { (path(of: $0, settling.receipt), $0.bytes) }) { first, _ in first }
            settling.requests = files.map { path(of: $0, settling.receipt) }.batches(of: Self.batchSize).map {
                .remove(Array($0))
            }
            ask(settling, at: now)
        } else {
            settling.refused.removeAll { !paths.contains($0.path) }
            conclude(settling, at: now)
        }
    }

    private func conclude(_ settling: Settling, at now: Moment) {
        if let bytes = settling.bytes { return concludeRemoval(settling, bytes, at: now) }
        var receipt = settling.receipt
        if !settling.refused.isEmpty, queue.failures(of: receipt.session) < Self.markAttempts - 1 {
            return fail(receipt.session, Self.failure("mark", settling.refused), at: now)
        }
        receipt.marked = now.date
        receipt.unmarked = settling.refused.isEmpty ? nil : settling.refused
        works[receipt.session]?.stage = .storingMarks(receipt)
        emit(.storeReceipt(receipt))
    }

    /// - Parameter bytes: the sizes of the requested files, by path.
    private func concludeRemoval(_ settling: Settling, _ bytes: [String: Int], at now: Moment) {
        var receipt = settling.receipt
        let kept = Set(settling.refused.map(\.path))
        let removed = bytes.reduce(0) { $0 + (kept.contains($1.key) ? 0 : $1.value) }
        guard settling.refused.isEmpty else {
            // The removal is requested again as long as files remain: the user wants them removed, and log-manager may have been
            // busy.
            if removed > 0 { publish(.removed, of: receipt.session, bytes: removed, at: now) }
            return fail(receipt.session, Self.failure("remove", settling.refused), at: now)
        }
        receipt.removed = now.date
        works[receipt.session]?.stage = .storingRemoval(receipt, bytes: removed)
        emit(.storeReceipt(receipt))
    }

    private static func failure(_ action: String, _ refused: [LogFileOutcome.Refusal]) -> ArchiveFailure {
        let first = refused.first.map { "\($0.path): \($0.reason)" } ?? ""
        return ArchiveFailure(
            code: "refused",
            reason: "log-manager did not \(action) \(refused.count.counted("file")) that the receiver has; \(first)",
            retry: .backingOff, isRefusal: true)
    }

    func noteMarked(_ receipt: ArchiveReceipt, at now: Moment) {
        let unmarked = receipt.unmarked ?? []
        totals.markedFiles += receipt.files.count - unmarked.count
        for refusal in unmarked {
            log(
                .error, "a file is kept because it was not marked", receipt.session,
                ["path": "\(refusal.path)", "reason": "\(refusal.reason)"])
        }
        log(.notice, "stream files marked", receipt.session, ["files": "\(receipt.files.count - unmarked.count)"])
        publish(.marked, of: receipt.session, at: now)
    }

    /// Takes the archives that were removed.
    package func removedArchives(
        _ session: SessionIdentifier, _ outcome: Result<[ArchiveRecord.Archive], RecordingError>, at now: Moment
    ) {
        guard let work = works[session], case .removingArchives = work.stage else { return }
        switch outcome {
        case .success(let archives):
            for archive in archives {
                log(.notice, "archive removed", session, ["archive": "\(archive.name)"])
                publish(.removed, of: session, archive, at: now)
            }
            var view = work.view
            view.archiveExists = false
            view.earlier = nil
            finish(session, view, at: now)
        case .failure(let error): fail(session, ArchiveFailure(error), at: now)
        }
        advance(at: now)
    }

    private func path(of file: ArchiveRecord.File, _ receipt: ArchiveReceipt) -> String {
        "\(SessionDirectory.recordingsName)/\(receipt.session)/\(file.name)"
    }
}
