package import ArchiveStorage
package import Messages

/// The user's choices for finished sessions, and the next step of a session.
package struct ArchivePolicy: Hashable, Sendable {
    /// Whether archives are uploaded to a receiver.
    package var uploads = false
    package var encrypts = false
    /// Whether cancelled sessions are archived too.
    package var archivesCancelled = false
    /// How long archives stay here after the receiver confirmed them.
    package var keepArchives = KeepTime.always
    /// How long stream files stay here after the receiver confirmed them.
    package var keepRecordings = KeepTime.always

    package init(
        uploads: Bool = false, encrypts: Bool = false, archivesCancelled: Bool = false,
        keepArchives: KeepTime = .always,
        keepRecordings: KeepTime = .always
    ) {
        self.uploads = uploads
        self.encrypts = encrypts
        self.archivesCancelled = archivesCancelled
        self.keepArchives = keepArchives
        self.keepRecordings = keepRecordings
    }

    /// The next step. It depends only on the files on disk and the time, so it is the same after a kill.
    package func step(for view: SessionView, at now: WallTime) -> ArchiveStep {
        if view.isDiscarded { return .discard }
        if let receipt = view.receipt { return cleanUp(receipt, view, at: now) }
        if let record = view.record, view.archiveExists { return uploads ? upload(record) : .done }
        if let step = view.earlier.flatMap({ step(for: $0, at: now) }) { return step }
        guard view.isOver, archivesCancelled || !view.isCancelled else { return .done }
        return view.earlier?.archives.first.map { .spare($0) } ?? .make
    }

    private func upload(_ record: ArchiveRecord) -> ArchiveStep {
        if encrypts, let plain = record.archives.first(where: { !$0.isEncrypted }) { return .refuse(plain.name) }
        // The existing archive is uploaded: encrypting the session again would give different bytes.
        return .upload
    }

    /// The next step for the archives of an earlier session of this name; nil if they are kept. That session's stream files no
    /// longer exist.
    private func step(for earlier: SessionView.Earlier, at now: WallTime) -> ArchiveStep? {
        if let record = earlier.record {
            return uploads && earlier.archives.count == record.archives.count ? upload(record) : nil
        }
        guard let receipt = earlier.receipt, let deadline = keepArchives.deadline(after: receipt.date), deadline <= now
        else { return nil }
        return .removeArchives
    }

    private func cleanUp(_ receipt: ArchiveReceipt, _ view: SessionView, at now: WallTime) -> ArchiveStep {
        if receipt.marked == nil { return .mark }
        var next: WallTime?
        let wishes: [(ArchiveStep, KeepTime, isDone: Bool)] = [
            // Archives come first, because log-manager may refuse to remove files for a long time.
            (.removeArchives, keepArchives, !view.archiveExists),
            (.removeRecordings, keepRecordings, receipt.removed != nil || receipt.files.isEmpty),
        ]
        for (step, keep, isDone) in wishes where !isDone {
            guard let deadline = keep.deadline(after: receipt.date) else { continue }
            if deadline <= now { return step }
            next = min(next ?? deadline, deadline)
        }
        return next.map { .later($0) } ?? .done
    }
}
