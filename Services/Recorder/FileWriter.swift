import DequeModule
import Files
import Recording
import SystemPackage
import ZeroMQ

/// Writes stream files behind the write-ahead log, at most a second behind, on a thread of its own.
///
/// What fails concerns one session: its files take nothing more, and the log has what is needed to write them again.
actor FileWriter {
    /// What came of some work.
    struct Outcome: Sendable {
        /// Finished files, and whose they are.
        var finished: [(session: SessionIdentifier, log: LogName, file: FinishedFile)] = []
        var failures: [SessionIdentifier: RecordingError] = [:]
        /// Whether some records are not in their files yet.
        var isBehind = false
    }

    /// A stream's files.
    private final class Target {
        let session: SessionIdentifier
        let file: StreamFile
        let name: LogName
        let directory: Directory
        /// When the oldest record came that waits, on `MonotonicClock`; nil where none waits.
        var waitingSince: Int64?
        /// The sync that is under way, and the file's place in it.
        var syncing: (round: SyncQueues.Round, index: Int)?

        init(_ session: SessionIdentifier, _ name: LogName, _ file: StreamFile, in directory: Directory) {
            self.session = session
            self.name = name
            self.file = file
            self.directory = directory
        }
    }

    /// How long records may wait for a write that takes more of them along, in nanoseconds. Every file is as old as this at
    /// most.
    private static let longestWait: Int64 = 800_000_000
    /// Files that are written in one go even though their records have not waited so long: few streams need not wait at all.
    private static let filesAtOnce = 96
    /// Bytes of one file that are written at once.
    private static let largestWait = 256 << 10

    private let thread: SocketThread
    private let data: FilePath
    private let syncs = SyncQueues()
    private var targets: [SessionIdentifier: [LogName: Target]] = [:]
    /// By the numbers in frames.
    private var numbers: [UInt32: Target] = [:]
    private var waiting: Deque<Target> = []
    private var failures: [SessionIdentifier: RecordingError] = [:]
    private var outcome = Outcome()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(data: FilePath) throws(ZeroMQError) {
        thread = try SocketThread(name: "files")
        self.data = data
    }

    // MARK: Writing

    /// Does what a block says.
    func apply(_ block: LogBlock) -> Outcome {
        let now = MonotonicClock.now
        block.forEachFrame { frame in
            if let (session, log) = frame.name {
                numbers[frame.number] = log.map { target(session, $0) }
            } else if let target = numbers[frame.number], failures[target.session] == nil {
                attempt(target) { () throws(RecordingError) in try apply(frame, to: target, now) }
            }
        }
        writeWaiting(now)
        return takeOutcome()
    }

    /// Writes what has waited long enough.
    func writeDue() -> Outcome {
        writeWaiting(MonotonicClock.now)
        return takeOutcome()
    }

    private func target(_ session: SessionIdentifier, _ log: LogName) -> Target {
        if let known = targets[session]?[log] { return known }
        let directory = SessionDirectory.recordings(in: data).path.appending(session.text)
        let new = Target(session, log, StreamFile(log, in: Directory(directory)), in: Directory(directory))
        targets[session, default: [:]][log] = new
        return new
    }

    private func apply(_ frame: LogFrame, to target: Target, _ now: Int64) throws(RecordingError) {
        // Two syncs of a file at once might report a failure to only one of them.
        if frame.endsFile { try settleSync(of: target) }
        if let sealed = try target.file.apply(frame) {
            // A file of the same name may follow, so the entry must be durable first.
            try target.directory.sync()
            let file = try sealed.certify(in: target.directory)
            outcome.finished.append((target.session, target.name, file))
        }
        if target.file.pendingBytes >= Self.largestWait { try target.file.write() }
        if target.file.pendingBytes > 0, target.waitingSince == nil {
            target.waitingSince = now
            waiting.append(target)
        }
    }

    private func writeWaiting(_ now: Int64) {
        var rest = Self.filesAtOnce
        while let target = waiting.first, let since = target.waitingSince,
            rest > 0 || now - since >= Self.longestWait
        {
            waiting.removeFirst()
            target.waitingSince = nil
            rest -= 1
            if failures[target.session] == nil {
                attempt(target) { () throws(RecordingError) in try target.file.write() }
            }
        }
    }

    private func attempt(_ target: Target, _ body: () throws(RecordingError) -> Void) {
        do throws(RecordingError) {
            try body()
        } catch {
            guard failures[target.session] == nil else { return }
            failures[target.session] = error
            outcome.failures[target.session] = error
        }
    }

    private func takeOutcome() -> Outcome {
        defer { outcome = Outcome() }
        outcome.isBehind = !waiting.isEmpty
        return outcome
    }

    // MARK: Durability

    /// Makes everything durable that was given of a session. Records that come meanwhile are written as ever.
    /// - Returns: why that is not so.
    func sync(_ session: SessionIdentifier) async -> RecordingError? {
        if let failure = failures[session] { return failure }
        let targets = Array((targets[session] ?? [:]).values)
        for target in targets {
            attempt(target) { () throws(RecordingError) in
                try settleSync(of: target)
                try target.file.write()
            }
        }
        let changed = targets.compactMap { target in target.file.beginSync().map { (target, $0) } }
        let round = syncs.begin(changed.map(\.1))
        for (index, (target, _)) in changed.enumerated() { target.syncing = (round, index) }
        await round.finish()
        for (target, _) in changed where target.syncing?.round === round {
            attempt(target) { () throws(RecordingError) in try settleSync(of: target) }
        }
        return failures[session]
    }

    /// Waits until no sync of a file is under way, and notes what came of it.
    private func settleSync(of target: Target) throws(RecordingError) {
        guard let (round, index) = target.syncing else { return }
        target.syncing = nil
        try target.file.noteSync(round.error(of: index))
    }

    /// Whether a session's files are as they should be.
    func failure(of session: SessionIdentifier) -> RecordingError? { failures[session] }

    /// Forgets a session's files.
    func forget(_ session: SessionIdentifier) {
        targets[session] = nil
        numbers = numbers.filter { $0.value.session != session }
        waiting.removeAll { $0.session == session }
        failures[session] = nil
    }

    // MARK: Recovery

    /// Repairs interrupted sessions, and continues with their files.
    func recover(_ directories: [SessionDirectory], log: Directory) throws(RecordingError) -> RecoveryOutcome {
        try WriteAheadLog.sync(log)
        let recovery = try SessionRecovery(of: directories, log: log)
        var result = RecoveryOutcome(log: recovery.log, logEnd: recovery.logEnd, damage: recovery.damage)
        for directory in directories {
            switch recovery.outcomes[directory.session] {
            case .success(let session):
                for (name, file) in recovery.files[directory.session] ?? [:] {
                    targets[directory.session, default: [:]][name] = Target(
                        directory.session, name, file, in: directory.directory)
                }
                result.sessions.append((directory, .success(session)))
            case .failure(let error): result.sessions.append((directory, .failure(error)))
            case nil: break
            }
        }
        return result
    }

    /// Writes a failed session's files anew from the log and its directory, and finishes them.
    /// - Parameter failures: why it failed.
    /// - Returns: what is to be stored of it.
    func finish(
        _ directory: SessionDirectory, log: Directory, failures: [String]
    ) throws(RecordingError) -> SessionRecord {
        for target in (targets[directory.session] ?? [:]).values {
            // Why it failed is known.
            try? settleSync(of: target)
            try target.file.replaceAfterFailedSync()
        }
        forget(directory.session)
        return try directory.finishFiles(from: log, failures: failures)
    }
}

/// What recovering sessions brought.
struct RecoveryOutcome: Sendable {
    /// The write-ahead log's identifier; nil where there is none.
    let log: String?
    /// The position behind everything that it has.
    let logEnd: Int
    let damage: LogReader.Damage?
    var sessions: [(directory: SessionDirectory, outcome: Result<RecoveredSession, RecordingError>)] = []
}
