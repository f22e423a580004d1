import Files
import LogManagerCore
import LogStorage
import Messages
import Recording
import Runtime

/// Carries out the effects of `StreamFiles`.
extension LogEngine {
    enum Queue: Int, EffectQueueName {
        case looks, scans, removals
    }

    /// How many files are compared at once; other work has its turn between pieces.
    private static let comparedSize = 256

    static func queue(of effect: StreamFiles.Effect) -> Queue? {
        switch effect {
        case .look: .looks
        case .listSessions, .compare: .scans
        case .remove, .retireRemains, .eraseRemains: .removals
        default: nil
        }
    }

    func carryOutQueued(_ effect: StreamFiles.Effect) async throws {
        switch effect {
        case .look(let number, let paths):
            let looks = await diskReader.run { folder in
                paths.map { PathLook(path: $0, outcome: folder.look(up: $0)) }
            }
            core.looked(number, looks, at: now)
        case .remove(let step, let files):
            core.stepped(await worker.run { $0.carryOut(step, for: files) }, at: now)
        case .retireRemains(let sessions, let onlyUploaded):
            let outcomes = await worker.run { folder in
                sessions.map { ($0, folder.retireRemains(of: $0, onlyUploaded: onlyUploaded)) }
            }
            core.retiredRemains(outcomes, at: now)
        case .eraseRemains(let sessions):
            await publishAll()
            let failures = await worker.run { folder in sessions.map { ($0, folder.eraseRemains(of: $0)) } }
            core.erasedRemains(failures, at: now)
        case .listSessions:
            let list = await worker.run { folder in
                Result { () throws(RecordingError) in
                    let sessions = try folder.sessions()
                    return StreamFiles.SessionList(
                        sessions: sessions, hasRecordings: !sessions.isEmpty || folder.hasRecordings,
                        retired: try folder.retiredSessions())
                }
            }
            core.listed(list, at: now)
        case .compare(let session, let atOnce):
            let (changes, warning) = await compare(session, atOnce: atOnce)
            core.compared(changes, warning: warning, at: now)
        default: return
        }
    }

    func carryOut(_ effect: StreamFiles.Effect) {
        switch effect {
        case .change(let number, let change):
            core.changed(number, Result { () throws(RecordingError) in try catalog.apply(change) }, at: now)
        case .releaseReserve: try? reserve.release()
        case .restoreReserve: _ = try? reserve.restore()
        case .lookAtDisk: core.take(freeBytes: folder.freeBytes(), at: now)
        case .find(let segments): core.found(segments.map { ($0, folder.find($0.path)) }, at: now)
        case .notice(let notice): runtime.tell(notice)
        case .look, .remove, .retireRemains, .eraseRemains, .listSessions, .compare: return
        }
    }

    /// Updates the catalog from a session's directory.
    private func compare(
        _ session: SessionIdentifier, atOnce: Bool
    ) async -> (Result<CatalogChanges, RecordingError>, warning: String?) {
        var warning: String?
        do throws(RecordingError) {
            let content = try await worker.run { folder throws(RecordingError) in try folder.content(of: session) }
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
