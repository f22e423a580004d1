import ArchiveStorage
import ArchiverCore
import Archives
import Encryption
import Files
import MessageBus
import Messages
import Recording
import Runtime
import ServiceKit
import SystemPackage
import Upload
import ZeroMQ

/// Carries out the effects of `Deliveries`. Work interrupted by the program's end is not reported; the next start repeats it.
extension ArchiveEngine {
    enum Queue: Int, EffectQueueName {
        case disk, making, uploads, logManager

        var order: EffectOrder { self == .uploads ? .atOnce : .inTurn }
    }

    static func queue(of effect: Deliveries.Effect) -> Queue? {
        switch effect {
        case .scan, .look, .claim, .release, .storeRecord, .storeReceipt, .find, .removeArchives, .discard: .disk
        case .make: .making
        case .upload, .forget: .uploads
        case .ask: .logManager
        case .notice: nil
        }
    }

    func carryOut(_ effect: Deliveries.Effect) {
        if case .notice(let notice) = effect { runtime.tell(notice) }
    }

    func carryOutQueued(_ effect: Deliveries.Effect) async throws {
        switch effect {
        case .make(let session):
            let outcome = await make(session)
            try Task.checkCancellation()
            core.made(session, outcome, at: now)
        case .upload(let session, let archive): try await upload(archive, of: session)
        case .forget(let record): for archive in record.archives { await uploader?.forget(archive.name) }
        case .ask(let session, let request):
            let outcome = await logManager.ask(request)
            try Task.checkCancellation()
            core.answered(session, outcome, at: now)
        default:
            // Lets requests run between two disk operations.
            await Task.yield()
            carryOutOnDisk(effect)
        }
    }

    private func carryOutOnDisk(_ effect: Deliveries.Effect) {
        switch effect {
        case .scan:
            let outcome = Result { () throws(RecordingError) in
                try folder.removeLeftovers(at: now.date)
                return try folder.sessions()
            }
            core.scanned(outcome, discarded: (try? folder.discarded()) ?? [], at: now)
        case .look(let session):
            let outcome = Result { () throws(RecordingError) in try folder.view(of: session, at: now.date) }
            core.looked(session, outcome, at: now)
        case .claim(let session):
            let outcome = Result { () throws(RecordingError) -> SessionView? in
                claims[session] = try folder.claim(session)
                return claims[session] == nil ? nil : try folder.view(of: session, at: now.date)
            }
            core.claimed(session, outcome, at: now)
        case .release(let session): claims[session] = nil
        case .storeRecord(let record):
            let failure = RecordingError.thrown { () throws(RecordingError) in try folder.write(record) }
            core.stored(record.session, failure, at: now)
        case .storeReceipt(let receipt):
            let failure = RecordingError.thrown { () throws(RecordingError) in try folder.write(receipt) }
            core.stored(receipt.session, failure, at: now)
        case .find(let session, let paths):
            let outcome = Result { () throws(RecordingError) in try folder.existing(paths) }
            core.found(session, outcome, at: now)
        case .removeArchives(let receipt):
            let outcome = Result { () throws(RecordingError) in try folder.removeArchives(of: receipt) }
            core.removedArchives(receipt.session, outcome, at: now)
        case .discard(let session):
            let outcome = Result { () throws(RecordingError) in try folder.discard(session) }
            core.discarded(session, outcome, at: now)
        default: return
        }
    }

    private func make(_ session: SessionIdentifier) async -> Result<ArchiveRecord, ArchiveFailure> {
        let date = now.date
        do throws(ArchiveError) {
            let (made, logs) = try await maker.run { [folder] archiver throws(ArchiveError) in
                let directory: SessionDirectory
                let record: SessionRecord
                do throws(RecordingError) {
                    directory = try SessionDirectory.open(session, in: folder.data)
                    record = try directory.record()
                } catch {
                    throw ArchiveError(error)
                }
                // An archive is named after the record, so it would replace that of the other session.
                guard record.session == session else {
                    throw ArchiveError(
                        .invalidParameter,
                        "recordings/\(session) has the record of session \(record.session), so it is a copy or was "
                            + "renamed: rename it back, or move the directory away if it is a copy.")
                }
                let made = try archiver.archive(
                    directory, to: folder.directory, at: date,
                    mayReplace: { folder.mayReplaceArchives(of: directory) })
                return (made, record.logs.map(\.name))
            }
            health.clear(Self.certificateDates)
            return .success(ArchiveRecord(session, made: made, logs: logs, date: date))
        } catch {
            return .failure(ArchiveFailure(error))
        }
    }

    /// Uploads an archive. The core limits the number of simultaneous uploads.
    private func upload(_ archive: ArchiveRecord.Archive, of session: SessionIdentifier) async throws {
        guard let uploader else { return }
        let file = UploadFile(
            path: folder.directory.path.appending(archive.name), name: archive.name, bytes: archive.bytes,
            sha256: archive.sha256)
        let outcome: Result<UploadConfirmation, UploadError>
        do throws(UploadError) {
            outcome = .success(try await uploader.upload(file))
        } catch {
            outcome = .failure(error)
        }
        try Task.checkCancellation()
        core.uploaded(session, outcome, at: now)
    }
}
