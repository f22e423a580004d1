import Upload
import Files
import Logging
import Messages
import Recording
import ServiceKit
import Synchronization
import SystemPackage

/// What is done, step by step; each is on disk before the next one begins.
extension ArchiveEngine {
    /// How often log-manager is asked to mark files that it refuses: it may not have seen them yet.
    private static let markAttempts = 5

    func make(_ session: SessionIdentifier) async throws {
        let record = try await maker.make(session)
        // From here on these archives are the session's: before this, nobody has seen them.
        try folder.write(record)
        for archive in record.archives {
            totals.made.archives += 1
            totals.made.bytes += archive.bytes
            logger.notice(
                "archive made",
                metadata: [
                    "session": "\(session)", "archive": "\(archive.name)", "bytes": "\(archive.bytes)",
                    "encrypted": "\(archive.isEncrypted)",
                ])
            publish(archive.isEncrypted ? .encrypted : .made, of: session, archive)
        }
    }

    func upload(_ record: ArchiveRecord) async throws {
        guard let uploader else { return }
        let session = record.session
        defer { retries.withLock { $0[session] = nil } }
        var confirmed: [ArchiveReceipt.Confirmed] = []
        for archive in record.archives {
            let file = UploadFile(
                path: folder.directory.path.appending(archive.name), name: archive.name, bytes: archive.bytes,
                sha256: archive.sha256)
            let confirmation = try await uploader.upload(file) { retry in
                self.uploadRetries.add(1, ordering: .relaxed)
                self.retries.withLock { $0[session] = retry.error.description }
                self.logger.warning(
                    "an upload is tried again",
                    metadata: [
                        "session": "\(session)", "attempt": "\(retry.attempt)", LogKey.error: "\(retry.error)",
                    ])
            }
            confirmed.append(ArchiveReceipt.Confirmed(archive: archive, confirmation: confirmation))
        }
        let receipt = ArchiveReceipt(record, confirmed)
        guard receipt.isSound else {
            throw ArchiveFailure(
                code: "unconfirmed", reason: "what the receiver confirmed of session \(session) is not what was sent",
                retry: .backingOff, isRefusal: true)
        }
        try folder.write(receipt)
        totals.receipts += 1
        try folder.removeRecord(of: session)
        for archive in confirmed {
            totals.uploaded.archives += 1
            totals.uploaded.bytes += archive.archive.bytes
            logger.notice(
                "archive uploaded",
                metadata: [
                    "session": "\(session)", "archive": "\(archive.archive.name)",
                    "location": "\(archive.confirmation.location)",
                ])
            publish(.uploaded, of: session, archive.archive, location: archive.confirmation.location)
        }
    }

    func mark(_ receipt: ArchiveReceipt) async throws {
        var receipt = receipt
        // It may still be there where the archiver was killed just after it wrote the receipt.
        try folder.removeRecord(of: receipt.session)
        var refused: [LogFileOutcome.Refusal] = []
        for archive in receipt.archives {
            let files = receipt.files.filter { $0.archive == archive.archive.name }
            refused += try await keeper.mark(files.map { path(of: $0, receipt) }, receipt: receipt.mark(for: archive))
        }
        // One that is gone needs no mark.
        refused.removeAll { !exists($0.path) }
        if let first = refused.first, queue.failures(of: receipt.session) < Self.markAttempts - 1 {
            throw ArchiveFailure(
                code: "refused",
                reason: "log-manager did not mark \(refused.count) files that the receiver has; \(first.path): "
                    + "\(first.reason)",
                retry: .backingOff, isRefusal: true)
        }
        receipt.marked = .now
        totals.markedFiles += receipt.files.count - refused.count
        receipt.unmarked = refused.isEmpty ? nil : refused
        try folder.write(receipt)
        for refusal in refused {
            logger.error(
                "a file is kept, for it was not marked",
                metadata: ["path": "\(refusal.path)", "reason": "\(refusal.reason)"])
        }
        logger.notice(
            "log files marked",
            metadata: ["session": "\(receipt.session)", "files": "\(receipt.files.count - refused.count)"])
        publish(.marked, of: receipt.session)
    }

    func removeRecordings(of receipt: ArchiveReceipt) async throws {
        var receipt = receipt
        let unmarked = Set((receipt.unmarked ?? []).map(\.path))
        let files = receipt.files.filter { !unmarked.contains(path(of: $0, receipt)) && exists(path(of: $0, receipt)) }
        let refused = try await keeper.remove(files.map { path(of: $0, receipt) }).filter { exists($0.path) }
        for refusal in refused {
            logger.warning("a file is kept", metadata: ["path": "\(refusal.path)", "reason": "\(refusal.reason)"])
        }
        receipt.removed = .now
        try folder.write(receipt)
        let kept = Set(refused.map(\.path))
        let bytes = files.filter { !kept.contains(path(of: $0, receipt)) }.reduce(0) { $0 + $1.bytes }
        publish(.removed, of: receipt.session, bytes: bytes)
    }

    func removeArchives(of receipt: ArchiveReceipt) throws {
        for archive in try folder.removeArchives(of: receipt) {
            logger.notice(
                "archive removed", metadata: ["session": "\(receipt.session)", "archive": "\(archive.name)"])
            publish(.removed, of: receipt.session, archive)
        }
    }

    private func path(of file: ArchiveRecord.File, _ receipt: ArchiveReceipt) -> String {
        "\(SessionDirectory.recordingsName)/\(receipt.session)/\(file.name)"
    }

    private func exists(_ path: String) -> Bool { Directory(folder.data).contains(path) }
}
