import ArchiveStorage
import ArchiverCore
import Encryption
import Files
import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import SystemPackage
import Upload
import ZeroMQ

/// Carries out the effects of `Deliveries`. Work that takes time goes into a queue for its kind, and each queue has one task.
/// What the end of the program interrupts is not reported: it is done at the next start.
extension ArchiveEngine {
    /// Carries out the effects. Call it after every call of the core.
    func perform() {
        for effect in core.takeEffects() { perform(effect) }
    }

    private func perform(_ effect: Deliveries.Effect) {
        switch effect {
        case .scan, .look, .claim, .release, .storeRecord, .storeReceipt, .find, .removeArchives:
            queues.disk.add(effect)
        case .make: queues.making.add(effect)
        case .upload, .forget: queues.uploads.add(effect)
        case .ask: queues.logManager.add(effect)
        case .wake: queues.wakes.add(effect)
        case .publish(let event): publish(event)
        case .log(let level, let message, let metadata): logger.log(level: level, message, metadata: metadata)
        case .degraded(let sentence, let key): health.report(.degraded, sentence, for: key)
        case .failing(let sentence, let key): health.report(.failing, sentence, for: key)
        case .well(let key): health.clear(key)
        }
    }

    /// Publishes an event. One that can't be sent is logged: what it says is on disk too.
    private func publish(_ event: ArchiveEvent) {
        do {
            try events.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }

    // MARK: Disk

    /// Requests have their turn between two effects.
    func carryOutDisk() async throws {
        try await queues.disk.forEach { [self] effect in
            carryOutOnDisk(effect)
            perform()
            await Task.yield()
        }
    }

    private func carryOutOnDisk(_ effect: Deliveries.Effect) {
        switch effect {
        case .scan:
            let outcome = Result { () throws(RecordingError) in
                try folder.removeLeftovers(at: .now)
                return try folder.sessions()
            }
            core.scanned(outcome, at: .now)
        case .look(let session):
            let outcome = Result { () throws(RecordingError) in try folder.view(of: session, at: .now) }
            core.looked(session, outcome, at: .now)
        case .claim(let session):
            let outcome = Result { () throws(RecordingError) -> SessionView? in
                claims[session] = try folder.claim(session)
                return claims[session] == nil ? nil : try folder.view(of: session, at: .now)
            }
            core.claimed(session, outcome, at: .now)
        case .release(let session): claims[session] = nil
        case .storeRecord(let record):
            let failure = RecordingError.thrown { () throws(RecordingError) in try folder.write(record) }
            core.stored(record.session, failure, at: .now)
        case .storeReceipt(let receipt):
            let failure = RecordingError.thrown { () throws(RecordingError) in try folder.write(receipt) }
            core.stored(receipt.session, failure, at: .now)
        case .find(let session, let paths):
            let data = Directory(folder.data)
            core.found(session, Set(paths.filter(data.contains)), at: .now)
        case .removeArchives(let receipt):
            let outcome = Result { () throws(RecordingError) in try folder.removeArchives(of: receipt) }
            core.removedArchives(receipt.session, outcome, at: .now)
        default: return
        }
    }

    // MARK: Others

    func carryOutMaking() async throws {
        try await queues.making.forEach { [self] effect in
            guard case .make(let session) = effect else { return }
            let outcome: Result<ArchiveRecord, ArchiveFailure>
            do throws(ArchiveError) {
                outcome = .success(try await maker.make(session))
            } catch {
                outcome = .failure(ArchiveFailure(error))
            }
            try Task.checkCancellation()
            core.made(session, outcome, at: .now)
            perform()
        }
    }

    /// Uploads archives, as many at a time as the core gives.
    func carryOutUploads() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await queues.uploads.forEach { [self] effect in
                switch effect {
                case .upload(let session, let archive):
                    group.addTask { try await self.upload(archive, of: session) }
                case .forget(let record):
                    for archive in record.archives { await uploader?.forget(archive.name) }
                default: return
                }
            }
        }
    }

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
        core.uploaded(session, outcome, at: .now)
        perform()
    }

    func carryOutAsking() async throws {
        try await queues.logManager.forEach { [self] effect in
            guard case .ask(let session, let request) = effect else { return }
            let outcome = await logManager.ask(request)
            try Task.checkCancellation()
            core.answered(session, outcome, at: .now)
            perform()
        }
    }

    /// Sleeps for all times at once: a later one must not keep an earlier one waiting.
    func wakeInTime() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await queues.wakes.forEach { [self] effect in
                guard case .wake(let time) = effect else { return }
                group.addTask { try await self.wake(at: time) }
            }
        }
    }

    private func wake(at time: Int64) async throws {
        try await thread.sleep(until: time)
        core.advance(at: .now)
        perform()
    }
}
