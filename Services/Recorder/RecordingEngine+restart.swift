import Logging
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What was cut off: sessions that a recorder was killed in, or a power cut ended.
extension RecordingEngine {
    /// Room that a repair needs: a file that is begun, a marker, a record of the session.
    private static let repairRoom = 4 << 20

    /// Repairs the sessions that were cut off and goes on with them. Call it once, before anything else is done.
    ///
    /// One that can't be gone on with is left as it is, and health says so. Where the disk was full, it is tried again.
    func goOnWithSessions() async throws {
        for identifier in try SessionDirectory.sessions(in: data) { _ = await goOn(with: identifier) }
        restoreReserves()
    }

    /// Takes up room for a full disk, as far as there is some.
    nonisolated func restoreReserves() {
        for reserve in [endReserve, reserve] { _ = try? reserve.restore() }
    }

    /// Tries again what a full disk kept from going on.
    func goOnWithTheRest() async {
        guard !cutOff.isEmpty, freeBytes ?? 0 > max(Self.repairRoom, settings.minimumFree) else { return }
        let identifiers = cutOff
        cutOff = []
        for identifier in identifiers where await goOn(with: identifier) { health.clear(Self.restart(of: identifier)) }
    }

    /// - Returns: false where it could not be gone on with.
    private func goOn(with identifier: SessionIdentifier) async -> Bool {
        do {
            let directory = try SessionDirectory.open(identifier, in: data)
            guard try directory.needsRecovery() && isOwn(directory) else { return true }
            do {
                try await goOn(with: directory)
            } catch let error as RecordingError where error.code == .noSpace {
                for reserve in [reserve, endReserve] { try? reserve.release() }
                try await goOn(with: directory)
            }
            return true
        } catch {
            if (error as? RecordingError)?.code == .noSpace { cutOff.append(identifier) }
            logger.error(
                "a session could not be gone on with",
                metadata: ["session": "\(identifier)", LogKey.error: "\(error)"])
            health.report(
                .degraded, "session \(identifier) could not be gone on with: \(error)",
                for: Self.restart(of: identifier))
            return false
        }
    }

    /// What health keeps a session under that could not be gone on with.
    private static func restart(of identifier: SessionIdentifier) -> String { "restart \(identifier)" }

    /// Whether a session that was cut off is for this recorder to go on with.
    private func isOwn(_ directory: SessionDirectory) throws(RecordingError) -> Bool {
        guard let shard = settings.shard else { return true }
        let record = try directory.record()
        if record.shard?.count != shard.count {
            logger.warning(
                "a session was cut off, and no recorder with as many shards as this one has goes on with it",
                metadata: [
                    "session": "\(record.session)",
                    "advice": "start a recorder \(Self.shardText(record)), or one without a shard",
                ])
        }
        return record.shard == shard
    }

    private func goOn(with directory: SessionDirectory) async throws {
        let known = try directory.record().logs.reduce(into: Set()) { $0.formUnion($1.files.map(\.name)) }
        let recovered = try directory.recover()
        let session = try Session(recovered, in: directory, maximumHeldBytes: settings.holdLimit)
        sessions[session.identifier] = session
        routes = []
        try await subscribe(to: Set(session.record.streams))
        logger.notice(
            "going on with a recording that was cut off",
            metadata: ["session": "\(session.identifier)", "status": "\(session.status)"])
        // Nobody was told of files that got their names just before the end.
        for log in recovered.record.logs {
            for (index, file) in log.files.enumerated() where !known.contains(file.name) {
                session.noteFinished(file, at: index, of: log.name)
            }
        }
        do {
            if session.status == .starting {
                // Nobody was told that it started.
                _ = session.fail("interrupted: the recorder ended while the session was being started")
                publish(.failure, of: session, reason: session.record.failures.last)
            } else if session.isRecording {
                try session.markRestart(at: .now)
                publish(.restart, of: session)
            }
        } catch {
            fail(session, error)
        }
        if session.status != .running { ordering.yield(.stop(session: session.identifier)) }
    }
}
