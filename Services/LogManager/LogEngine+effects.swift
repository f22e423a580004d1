import Files
import Logging
import LogManagerCore
import LogStorage
import MessageBus
import Messages
import Recording
import ServiceKit

/// Carries out the effects of `StreamFiles`. Work that takes time goes into a queue for its kind, and each queue has one task.
extension LogEngine {
    /// How many files are compared at once: between pieces others have their turn.
    private static let comparedSize = 256

    /// Carries out the effects. Call it after every call of the core.
    func perform() {
        while true {
            let effects = core.takeEffects()
            if effects.isEmpty { break }
            for effect in effects {
                switch effect {
                case .look: looks.add(effect)
                case .listSessions, .compare: scans.add(effect)
                case .remove: removals.add(effect)
                default: carryOutNow(effect)
                }
            }
        }
        resumeWaits()
    }

    func carryOutLooks() async throws { try await carryOut(looks) }
    func carryOutScans() async throws { try await carryOut(scans) }
    func carryOutRemovals() async throws { try await carryOut(removals) }

    private func carryOut(_ queue: EffectQueue<StreamFiles.Effect>) async throws {
        try await queue.forEach { [self] effect in
            await carryOut(effect)
            perform()
        }
    }

    func carryOut(_ effect: StreamFiles.Effect) async {
        switch effect {
        case .look(let number, let paths): core.looked(number, await diskReader.look(up: paths), at: .now)
        case .remove(let step, let files): core.stepped(await worker.carryOut(step, for: files), at: .now)
        case .listSessions: core.listed(await worker.sessions(), at: .now)
        case .compare(let session, let atOnce):
            let (changes, warning) = await compare(session, atOnce: atOnce)
            core.compared(changes, warning: warning, at: .now)
        default: carryOutNow(effect)
        }
    }

    private func carryOutNow(_ effect: StreamFiles.Effect) {
        switch effect {
        case .change(let number, let change):
            core.changed(number, Result { () throws(RecordingError) in try catalog.apply(change) }, at: .now)
        case .releaseReserve: try? reserve.release()
        case .restoreReserve: _ = try? reserve.restore()
        case .lookAtDisk: core.take(freeBytes: folder.freeBytes(), at: .now)
        case .find(let segments): core.found(segments.map { ($0, folder.find($0.path)) }, at: .now)
        case .publish(let event):
            do {
                try events?.publish(event)
            } catch {
                logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
            }
        case .log(let level, let message, let metadata): logger.log(level: level, message, metadata: metadata)
        case .degraded(let sentence, let key): health.report(.degraded, sentence, for: key)
        case .failing(let sentence, let key): health.report(.failing, sentence, for: key)
        case .well(let key): health.clear(key)
        case .measure(let name, let value): health.measure(name, value)
        case .look, .remove, .listSessions, .compare: break
        }
    }

    /// Makes the catalog have what a session's directory has.
    private func compare(
        _ session: SessionIdentifier, atOnce: Bool
    ) async -> (Result<CatalogChanges, RecordingError>, warning: String?) {
        var warning: String?
        do throws(RecordingError) {
            let content = try await worker.content(of: session)
            warning = content.warning
            var reconciliation = try Reconciliation(
                of: content, in: catalog, folder: folder,
                stepSize: atOnce ? Reconciliation.stepSize : Self.comparedSize)
            var changes = CatalogChanges()
            while let step = try reconciliation.step() {
                changes += step
                if !atOnce { await Task.yield() }
            }
            return (.success(changes), warning)
        } catch {
            return (.failure(error), warning)
        }
    }
}
