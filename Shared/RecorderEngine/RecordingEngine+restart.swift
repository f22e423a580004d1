import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import Runtime
import ServiceKit
import SystemPackage

/// Resumes sessions that were interrupted because a recorder was killed or lost power.
extension RecordingEngine {
    /// Bytes that a repair needs: the beginning of a file, a marker, the session's record.
    private static let repairRoom = 4 << 20

    /// Repairs the interrupted sessions of a data directory.
    static func recover(
        in data: FilePath, shard: Shard?, files: FileWriter, logger: Logger
    ) async throws -> RecoveryOutcome {
        let log = WriteAheadLog.directory(in: data, shard: shard)
        var own: [SessionDirectory] = []
        // By the write-ahead log that has their latest data: that of a shard, or of a recorder without one.
        var others: [FilePath: [SessionDirectory]] = [:]
        var failed: [(SessionDirectory, RecordingError)] = []
        for identifier in try SessionDirectory.sessions(in: data) {
            let directory = try SessionDirectory.open(identifier, in: data)
            if directory.hasChecksums { continue }
            // If a session's record can't be read, recovery returns that as the session's outcome.
            let record = try? directory.record()
            if let record, record.session != identifier {
                logger.warning(
                    "a copy of an unfinished session is not continued",
                    metadata: [
                        "directory": "\(directory.directory.path)", "session": "\(record.session)",
                        "advice": "move it away, or finish it with recorder recover",
                    ])
                continue
            }
            if let shard, let record {
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
            do throws(RecordingError) {
                if let record, let other = try directory.log(of: record), other.path != log.path {
                    others[other.path, default: []].append(directory)
                } else {
                    own.append(directory)
                }
            } catch {
                failed.append((directory, error))
            }
        }
        var recovery = try await files.recover(own, log: log)
        // No other recorder can be writing into these logs, because this one holds the lock of the data directory.
        for (path, directories) in others {
            do throws(RecordingError) {
                recovery.sessions += try await files.recover(directories, log: Directory(path), isOwn: false).sessions
            } catch {
                failed += directories.map { ($0, error) }
            }
        }
        for (directory, error) in failed { recovery.sessions.append((directory, .failure(error))) }
        return recovery
    }

    /// Resumes the repaired sessions, before anything else is done. A session that can't be resumed is left as it is, and
    /// reported to health: it keeps its part of the write-ahead log for the next start. If the disk was full, resuming is
    /// retried.
    func resumeSessions(_ recovery: RecoveryOutcome) async {
        if let damage = recovery.damage {
            logger.error("the write-ahead log is damaged", metadata: [LogKey.error: "\(damage)"])
            health.report(.degraded, "\(damage)", for: "log")
        }
        for (directory, outcome) in recovery.sessions { await resume(directory, outcome) }
        await disk.run { [data] in SessionDirectory.removeRewrites(in: data) }
        core.discard((try? disposal.unfinished()) ?? [], at: now)
        restoreReserves()
        core.advance(at: now)
        perform()
    }

    /// Reserves disk space for when the disk is full, as far as space is available.
    nonisolated func restoreReserves() {
        for reserve in [endReserve, reserve] { _ = try? reserve.restore() }
    }

    /// Retries sessions that could not be resumed because the disk was full.
    func resumeRemaining() async {
        // The write-ahead log would grow without end for a session that somebody removed.
        let directories = interrupted.map(\.directory) + core.unstored.values.map(\.directory)
        if directories.isEmpty {
            core.removedSessions = []
        } else {
            let gone = await disk.run { [logDirectory] in
                // Without the log, the disk is not mounted.
                logDirectory.exists ? Set(directories.filter(Self.isGone).map(\.session)) : []
            }
            interrupted.removeAll { gone.contains($0.directory.session) }
            core.removedSessions = gone
        }
        let remaining = interrupted.filter { $0.isTriedAgain }
        guard !remaining.isEmpty, core.freeBytes ?? 0 > max(Self.repairRoom, settings.minimumFree.bytes) else {
            return
        }
        // Each session keeps its part of the write-ahead log until it is resumed. It may be discarded meanwhile.
        for (directory, _, _) in remaining {
            let outcome = await recover(directory)
            if isInterrupted(directory.session) { await resume(directory, outcome) }
        }
    }

    private nonisolated static func isGone(_ directory: SessionDirectory) -> Bool {
        do throws(Errno) {
            _ = try directory.directory.path.stat()
            return false
        } catch {
            return error == .noSuchFileOrDirectory
        }
    }

    func isInterrupted(_ session: SessionIdentifier) -> Bool {
        interrupted.contains { $0.directory.session == session }
    }

    private func recover(_ directory: SessionDirectory) async -> Result<RecoveredSession, RecordingError> {
        do throws(RecordingError) {
            return .success(try await files.recover(directory, log: logDirectory))
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

    /// Removes a session of which no stream was opened yet: the request to start it was never answered, and may be repeated.
    /// - Returns: whether it was removed.
    private func removeUnbegun(_ directory: SessionDirectory, _ record: SessionRecord) async throws -> Bool {
        guard record.status == .starting, record.logs.isEmpty, record.failures.isEmpty else { return false }
        guard try await disk.run({ try directory.removeIfOnlyRecord() }) else { return false }
        await files.forget(directory.session)
        logger.notice("removed a session that had not begun", metadata: ["session": "\(directory.session)"])
        return true
    }

    /// Keeps the write-ahead log of a session that could not be resumed: the log may have the only copy of samples.
    private func leave(_ directory: SessionDirectory, isTriedAgain: Bool) {
        let left = (directory: directory, position: neededLog(of: directory), isTriedAgain: isTriedAgain)
        if let index = interrupted.firstIndex(where: { $0.directory.session == directory.session }) {
            interrupted[index] = left
        } else {
            interrupted.append(left)
        }
    }

    /// The position from which a session needs the write-ahead log; nil if it does not need the log.
    private func neededLog(of directory: SessionDirectory) -> Int? {
        do throws(RecordingError) {
            guard let position = try directory.record().logPosition, position.log == core.logPosition.log else {
                return nil
            }
            return position.written
        } catch {
            // Without a record, the session can't use the log. A record that the disk can't read now may be readable at the next
            // start.
            return error.code == .unreadable || error.code == .notFound ? nil : 0
        }
    }

    private func resume(_ directory: SessionDirectory, _ recovered: RecoveredSession) async throws {
        if try await removeUnbegun(directory, recovered.record) { return }
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
