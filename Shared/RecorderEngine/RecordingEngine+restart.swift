import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import Runtime
import ServiceKit
import SystemPackage

/// What was interrupted: sessions that a recorder was killed in, or a power cut ended.
extension RecordingEngine {
    /// Room that a repair needs: a file that is begun, a marker, a record of the session.
    private static let repairRoom = 4 << 20

    /// Repairs the interrupted sessions of a data directory.
    static func recover(
        in data: FilePath, shard: Shard?, files: FileWriter, logger: Logger
    ) async throws -> RecoveryOutcome {
        var own: [SessionDirectory] = []
        for identifier in try SessionDirectory.sessions(in: data) {
            let directory = try SessionDirectory.open(identifier, in: data)
            if directory.hasChecksums { continue }
            // One whose record can't be read has that as its outcome.
            if let shard, let record = try? directory.record() {
                if record.shard?.count != shard.count {
                    logger.warning(
                        "a session was interrupted, and no recorder with as many shards as this one continues it",
                        metadata: [
                            "session": "\(record.session)",
                            "advice": "start a \(record.recorder), or one without a shard",
                        ])
                }
                if record.shard != shard { continue }
            }
            own.append(directory)
        }
        return try await files.recover(own, log: WriteAheadLog.directory(in: data, shard: shard))
    }

    /// Continues the sessions that were repaired, before anything else is done. One that can't be continued is left as it
    /// is, and health says so: it keeps its part of the write-ahead log for the next start. If the disk was full, it is tried
    /// again.
    func resumeSessions(_ recovery: RecoveryOutcome) async {
        if let damage = recovery.damage {
            logger.error("the write-ahead log is damaged", metadata: [LogKey.error: "\(damage)"])
            health.report(.degraded, "\(damage)", for: "log")
        }
        for (directory, outcome) in recovery.sessions { await resume(directory, outcome) }
        core.discard((try? disposal.unfinished()) ?? [], at: now)
        restoreReserves()
        core.advance(at: now)
        perform()
    }

    /// Takes up room for a full disk, as far as there is some.
    nonisolated func restoreReserves() {
        for reserve in [endReserve, reserve] { _ = try? reserve.restore() }
    }

    /// Tries again what a full disk kept from being continued.
    func resumeRemaining() async {
        // The log would grow without end for one that somebody removed.
        interrupted.removeAll { Self.isGone($0.directory) }
        let remaining = interrupted.filter { $0.isTriedAgain }
        guard !remaining.isEmpty, core.freeBytes ?? 0 > max(Self.repairRoom, settings.minimumFree.bytes) else {
            return
        }
        // Each keeps its part of the write-ahead log until it is continued. It may be discarded meanwhile.
        for (directory, _, _) in remaining {
            let outcome = await recover(directory)
            if isInterrupted(directory) { await resume(directory, outcome) }
        }
    }

    private static func isGone(_ directory: SessionDirectory) -> Bool {
        do throws(Errno) {
            _ = try directory.directory.path.stat()
            return false
        } catch {
            return error == .noSuchFileOrDirectory
        }
    }

    private func isInterrupted(_ directory: SessionDirectory) -> Bool {
        interrupted.contains { $0.directory.session == directory.session }
    }

    private func recover(_ directory: SessionDirectory) async -> Result<RecoveredSession, RecordingError> {
        do throws(RecordingError) {
            // Each directory has its outcome.
            return try await files.recover([directory], log: logDirectory).sessions[0].outcome
        } catch {
            return .failure(error)
        }
    }

    private func resume(
        _ directory: SessionDirectory, _ outcome: Result<RecoveredSession, RecordingError>
    ) async {
        let reason = "restart \(directory.session)"
        var outcome = outcome
        if case .failure(let error) = outcome, error.code == .noSpace {
            for reserve in [reserve, endReserve] { try? reserve.release() }
            outcome = await recover(directory)
        }
        do {
            try await resume(directory, outcome.get())
            interrupted.removeAll { $0.directory.session == directory.session }
            health.clear(reason)
        } catch {
            leave(directory, isTriedAgain: (error as? RecordingError)?.code == .noSpace)
            logger.error(
                "a session could not be continued",
                metadata: ["session": "\(directory.session)", LogKey.error: "\(error)"])
            health.report(.degraded, "session \(directory.session) could not be continued: \(error)", for: reason)
        }
    }

    /// Keeps what the write-ahead log has of a session that could not be continued: nothing else may have it.
    private func leave(_ directory: SessionDirectory, isTriedAgain: Bool) {
        let left = (directory: directory, position: neededLog(of: directory), isTriedAgain: isTriedAgain)
        if let index = interrupted.firstIndex(where: { $0.directory.session == directory.session }) {
            interrupted[index] = left
        } else {
            interrupted.append(left)
        }
    }

    /// From where on a session needs the write-ahead log; nil if it does not.
    private func neededLog(of directory: SessionDirectory) -> Int? {
        do throws(RecordingError) {
            guard let position = try directory.record().logPosition, position.log == core.logPosition.log else {
                return nil
            }
            return position.written
        } catch {
            // Without a record the log is of no use to it. One that the disk refuses may be read at the next start.
            return error.code == .unreadable || error.code == .notFound ? nil : 0
        }
    }

    private func resume(_ directory: SessionDirectory, _ recovered: RecoveredSession) async throws {
        let patterns = Set(recovered.record.streams)
        try await subscribe(to: patterns)
        do {
            try core.resume(recovered, in: directory, at: now)
        } catch {
            await unsubscribe(from: patterns)
            throw error
        }
    }
}
