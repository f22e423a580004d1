import ArchiveStorage
import Logging
package import Messages
package import Recording
import ServiceKit
package import Upload

/// Uploading archives: repeated attempts with growing pauses, until the receiver has confirmed each archive.
extension Deliveries {
    /// An upload in progress.
    struct Upload {
        let record: ArchiveRecord
        /// The confirmed archives, which are the first ones of the record.
        var confirmed: [ArchiveReceipt.Confirmed] = []
        /// The number of failed attempts for the next archive, and the last reason.
        var failures = 0
        var reason: String?
    }

    /// The number of sessions, per simultaneous upload, that may be in attempts or in the pauses between them. The limit keeps
    /// all sessions from contacting an unavailable receiver at once. Sessions that have used up their attempts do not count, so a
    /// few failing ones do not block the others.
    private static let triesForEachUpload = 4

    func mayUpload(_ session: SessionIdentifier) -> Bool {
        uploads[session] != nil || uploads.count < settings.uploads * Self.triesForEachUpload
    }

    func beginUpload(_ record: ArchiveRecord, at now: Moment) {
        if uploads[record.session]?.record != record {
            endUpload(of: record.session)
            uploads[record.session] = Upload(record: record)
        }
        continueUpload(of: record.session, at: now)
    }

    private func continueUpload(of session: SessionIdentifier, at now: Moment) {
        guard let upload = uploads[session] else { return }
        if upload.confirmed.count < upload.record.archives.count {
            works[session]?.stage = .uploading
            return emit(.upload(session, upload.record.archives[upload.confirmed.count]))
        }
        let receipt = ArchiveReceipt(upload.record, upload.confirmed)
        guard receipt.isSound else {
            endUpload(of: session)
            return fail(
                session,
                ArchiveFailure(
                    code: "unconfirmed",
                    reason: "the receiver's confirmation for session \(session) does not match what was sent",
                    retry: .backingOff, isRefusal: true), at: now)
        }
        works[session]?.stage = .storingReceipt(receipt)
        emit(.storeReceipt(receipt))
    }

    /// Takes the result of one attempt.
    package func uploaded(
        _ session: SessionIdentifier, _ outcome: Result<UploadConfirmation, UploadError>, at now: Moment
    ) {
        guard case .uploading = works[session]?.stage, var upload = uploads[session] else { return }
        switch outcome {
        case .success(let confirmation):
            let archive = upload.record.archives[upload.confirmed.count]
            upload.confirmed.append(ArchiveReceipt.Confirmed(archive: archive, confirmation: confirmation))
            upload.failures = 0
            upload.reason = nil
            uploads[session] = upload
            continueUpload(of: session, at: now)
        case .failure(let error):
            upload.failures += 1
            upload.reason = error.description
            uploads[session] = upload
            retry(session, upload, error, at: now)
        }
        advance(at: now)
    }

    /// Schedules another attempt after a pause, or gives up. Other uploads use the place meanwhile.
    private func retry(_ session: SessionIdentifier, _ upload: Upload, _ error: UploadError, at now: Moment) {
        guard let delay = settings.retries.delay(afterAttempt: upload.failures, error: error, using: &random) else {
            endUpload(of: session)
            return fail(session, ArchiveFailure(error), at: now)
        }
        works[session] = nil
        emit(.release(session))
        queue.postpone(session, by: delay, isLast: true, at: now)
        totals.uploadRetries += 1
        log(
            .warning, "an upload is tried again", session,
            ["attempt": "\(upload.failures)", LogKey.error: "\(error)"])
    }

    func endUpload(of session: SessionIdentifier) {
        if let upload = uploads.removeValue(forKey: session) { emit(.forget(upload.record)) }
    }

    func noteDelivered(_ receipt: ArchiveReceipt, at now: Moment) {
        endUpload(of: receipt.session)
        totals.receipts += 1
        for archive in receipt.archives {
            totals.uploaded.archives += 1
            totals.uploaded.bytes += archive.archive.bytes
            let location = archive.confirmation.location
            log(
                .notice, "archive uploaded", receipt.session,
                ["archive": "\(archive.archive.name)", "location": "\(location)"])
            publish(.uploaded, of: receipt.session, archive.archive, location: location, at: now)
        }
    }
}
