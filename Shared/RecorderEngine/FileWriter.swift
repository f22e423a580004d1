import Files
import Recording
import SystemPackage
import ZeroMQ

/// Writes stream files behind the write-ahead log, on a thread of its own.
actor FileWriter {
    private let thread: SocketThread
    private let syncs = SyncQueues()
    private let files: SessionFiles

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(data: FilePath) throws(ZeroMQError) {
        thread = try SocketThread(name: "files")
        files = SessionFiles(in: data)
    }

    func apply(_ block: LogBlock, at now: Int64) -> SessionFiles.Outcome { files.apply(block, at: now) }

    func writeDue(at now: Int64) -> SessionFiles.Outcome { files.writeDue(at: now) }

    /// Makes everything received for a session durable. Other sessions' files are written meanwhile.
    /// - Returns: the error if this failed; nil if everything is durable.
    func sync(_ session: SessionIdentifier) async -> RecordingError? {
        var round: SyncQueues.Round?
        let sync = files.beginSync(of: session) { files in
            let begun = syncs.begin(files)
            round = begun
            return files.indices.map { index in { begun.error(of: index) } }
        }
        await round?.finish()
        return files.endSync(sync, of: session)
    }

    func forget(_ session: SessionIdentifier) { files.forget(session) }

    func finish(
        _ directory: SessionDirectory, log: Directory, failures: [String]
    ) -> Result<SessionRecord, RecordingError> {
        files.finish(directory, log: log, failures: failures)
    }

    /// Repairs interrupted sessions, and continues their files.
    /// - Parameter isOwn: whether this recorder writes into the log.
    func recover(
        _ directories: [SessionDirectory], log: Directory, isOwn: Bool = true
    ) throws(RecordingError) -> RecoveryOutcome {
        try WriteAheadLog.sync(log)
        let recovery = try SessionRecovery(of: directories, log: log, isContinuedElsewhere: !isOwn)
        var result = RecoveryOutcome(
            log: recovery.log, logEnd: recovery.logEnd, logSynced: recovery.logSynced, damage: recovery.damage)
        for directory in directories {
            guard let outcome = recovery.outcomes[directory.session] else { continue }
            if case .success = outcome { files.add(recovery.files[directory.session] ?? [:], of: directory) }
            result.sessions.append((directory, outcome))
        }
        return result
    }

    /// Repairs an interrupted session with the write-ahead log that has its latest data, and continues its files.
    /// - Parameter log: this recorder's write-ahead log.
    func recover(_ directory: SessionDirectory, log own: Directory) throws(RecordingError) -> RecoveredSession {
        let log = try directory.log(of: directory.record()) ?? own
        // Every directory has an outcome.
        return try recover([directory], log: log, isOwn: log.path == own.path).sessions[0].outcome.get()
    }
}

/// The result of recovering sessions.
struct RecoveryOutcome: Sendable {
    /// The write-ahead log's identifier; nil if there is none.
    let log: String?
    /// The position after the log's data.
    let logEnd: Int
    /// The position before which all of the log's data is durable.
    let logSynced: Int
    let damage: LogReader.Damage?
    var sessions: [(directory: SessionDirectory, outcome: Result<RecoveredSession, RecordingError>)] = []
}
