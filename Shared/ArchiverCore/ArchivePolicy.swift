package import ArchiveStorage
package import Messages

/// What the user wants done with sessions that are over, and what is next for a session.
package struct ArchivePolicy: Hashable, Sendable {
    /// Whether archives are brought to a receiver.
    package var uploads = false
    /// Whether archives are encrypted.
    package var encrypts = false
    /// Whether sessions that were cancelled are archived too.
    package var archivesCancelled = false
    /// How long archives stay here once the receiver has them.
    package var keepArchives = KeepTime.always
    /// How long log files stay here once the receiver has them.
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

    /// What is to be done next, from what is on disk alone, so that it is the same after a kill.
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
        // As it is: another one of the same session would be another object where archives are encrypted.
        return .upload
    }

    /// What is done with the archives of an earlier session of the name, as it would have been; nil if they are kept. Its log files
    /// are gone.
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
            // Log-manager may refuse to remove files for long: the archives don't wait for it.
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
