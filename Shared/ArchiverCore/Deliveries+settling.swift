package import ArchiveStorage
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// What is done after a receipt: log files are marked at log-manager, and local copies are removed when their time is over.
extension Deliveries {
    /// How long log-manager is left alone when it does not answer, so that a thousand sessions don't wait for it one after
    /// the other.
    package static let awayPause = Duration.seconds(10)
    /// How often log-manager is asked to mark files that it refuses: it may not have seen them yet.
    private static let markAttempts = 5
    /// Files in one request, so that none is longer than log-manager reads: `RequestRouter.maximumRequestSize`.
    private static let batchSize = 1_000

    /// Files of a receipt that log-manager is asked to mark or to remove.
    struct Settling {
        let receipt: ArchiveReceipt
        let isRemoval: Bool
        /// What it is still to be asked; the first one is under way.
        var requests: [LogManagerRequest] = []
        var refused: [LogFileOutcome.Refusal] = []
        /// Of a removal: the bytes of the files that it is asked for, by path; nil before they were looked for.
        var bytes: [String: Int]?
    }

    func beginMarks(_ receipt: ArchiveReceipt, at now: Moment) {
        var settling = Settling(receipt: receipt, isRemoval: false)
        for archive in receipt.archives {
            let paths = receipt.files.filter { $0.archive == archive.archive.name }.map { path(of: $0, receipt) }
            settling.requests += paths.batches(of: Self.batchSize).map {
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

    /// Asks what is still to be asked, or ends the step.
    private func ask(_ settling: Settling, at now: Moment) {
        let session = settling.receipt.session
        guard let request = settling.requests.first else {
            // A file that is gone needs no mark, and no removal.
            return settling.refused.isEmpty
                ? conclude(settling, at: now) : find(settling.refused.map(\.path), settling)
        }
        guard now.monotonic >= awayUntil else {
            return fail(session, .away(settings.logManager, after: Self.awayPause), at: now)
        }
        works[session]?.stage = .asking(settling)
        emit(.ask(session, request))
    }

    /// Takes what log-manager refused of one request.
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

    /// Takes which of the files that were looked for are there.
    package func found(_ session: SessionIdentifier, _ paths: Set<String>, at now: Moment) {
        guard case .finding(var settling) = works[session]?.stage else { return }
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
        advance(at: now)
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

    /// - Parameter bytes: of the files that log-manager was asked for, by path.
    private func concludeRemoval(_ settling: Settling, _ bytes: [String: Int], at now: Moment) {
        var receipt = settling.receipt
        let kept = Set(settling.refused.map(\.path))
        let removed = bytes.reduce(0) { $0 + (kept.contains($1.key) ? 0 : $1.value) }
        guard settling.refused.isEmpty else {
            // Those that remain are asked for again as long as they are there: the user wants them gone, and log-manager may have
            // had no time for them.
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
                .error, "a file is kept, for it was not marked", receipt.session,
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
