import DequeModule
package import Files
package import SystemPackage

/// Writes the stream files of sessions behind the write-ahead log, at most a second behind.
///
/// A failure concerns one session: its files take no more data, and the log has what is needed to write them again. Confined to
/// one thread; times are given, in nanoseconds of one monotonic clock.
package final class SessionFiles {
    /// The result of some work.
    package struct Outcome: Sendable {
        /// Finished files, with their sessions and logs.
        package var finished: [(session: SessionIdentifier, log: LogName, file: FinishedFile)] = []
        package var failures: [SessionIdentifier: RecordingError] = [:]
        /// Whether some records are not in their files yet.
        package var isBehind = false

        package init() {}
    }

    /// Files that are being synced.
    package struct Sync {
        fileprivate let targets: [Target]
        fileprivate let number: Int
    }

    fileprivate final class Target {
        let session: SessionIdentifier
        let file: StreamFile
        let directory: Directory
        /// When the oldest waiting record arrived; nil if none waits.
        var waitingSince: Int64?
        /// The sync in progress, and a function that waits for its end and returns its error.
        var syncing: (number: Int, outcome: () -> RecordingError?)?

        init(_ session: SessionIdentifier, _ file: StreamFile, in directory: Directory) {
            self.session = session
            self.file = file
            self.directory = directory
        }
    }

    /// Nanoseconds that records may wait for a write together with later ones. No file is further behind than this.
    private static let longestWait: Int64 = 800_000_000
    /// Files that are written at once even if their records have not waited that long: with few streams, no record needs to wait.
    private static let filesAtOnce = 96
    /// Waiting bytes of one file that cause a write.
    private static let largestWait = 256 << 10

    private let data: FilePath
    private let calls: FileCalls
    private var targets: [SessionIdentifier: [LogName: Target]] = [:]
    /// By the numbers in frames of the write-ahead log.
    private var numbers: [UInt32: Target] = [:]
    private var waiting: Deque<Target> = []
    private var failures: [SessionIdentifier: RecordingError] = [:]
    private var outcome = Outcome()
    private var syncs = 0

    /// The stream files in a data directory.
    package init(in data: FilePath, calls: FileCalls = .system) {
        self.data = data
        self.calls = calls
    }

    /// Continues the files of an interrupted session.
    package func add(_ files: [LogName: StreamFile], of session: SessionDirectory) {
        targets[session.session, default: [:]].merge(
            files.mapValues { Target(session.session, $0, in: session.directory) }
        ) { $1 }
    }

    // MARK: Writing

    /// Carries out the frames of a block.
    package func apply(_ block: LogBlock, at now: Int64) -> Outcome {
        block.forEachFrame { frame in
            if let (session, log) = frame.name {
                numbers[frame.number] = log.map { target(session, $0) }
            } else if let target = numbers[frame.number], failures[target.session] == nil {
                attempt(target) { () throws(RecordingError) in try apply(frame, to: target, at: now) }
            }
        }
        return writeDue(at: now)
    }

    /// Writes records that have waited long enough.
    package func writeDue(at now: Int64) -> Outcome {
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
        defer { outcome = Outcome() }
        outcome.isBehind = !waiting.isEmpty
        return outcome
    }

    private func target(_ session: SessionIdentifier, _ log: LogName) -> Target {
        if let known = targets[session]?[log] { return known }
        let directory = SessionDirectory(session, in: data).directory
        let new = Target(session, StreamFile(log, in: directory, calls: calls), in: directory)
        targets[session, default: [:]][log] = new
        return new
    }

    private func apply(_ frame: LogFrame, to target: Target, at now: Int64) throws(RecordingError) {
        // If a file had two syncs at once, only one of them might report a failure.
        if frame.endsFile { try settleSync(of: target) }
        if let sealed = try target.file.apply(frame) {
            // A file of the same name may follow, so the entry must be durable first.
            try target.directory.sync(calls: calls)
            let file = try sealed.certify(in: target.directory)
            outcome.finished.append((target.session, target.file.name, file))
        }
        if target.file.pendingBytes >= Self.largestWait { try target.file.write() }
        if target.file.pendingBytes > 0, target.waitingSince == nil {
            target.waitingSince = now
            waiting.append(target)
        }
    }

    private func attempt(_ target: Target, _ body: () throws(RecordingError) -> Void) {
        guard let error = RecordingError.thrown(by: body), failures[target.session] == nil else { return }
        failures[target.session] = error
        outcome.failures[target.session] = error
    }

    // MARK: Durability

    /// Begins to make everything received for a session durable. Records that arrive meanwhile are written as usual.
    /// - Parameter sync: begins to sync files on other threads. For each file, it returns a function that waits for the end and
    ///   returns the error.
    /// - Returns: the argument for `endSync`, once the files are synced.
    package func beginSync(
        of session: SessionIdentifier, _ sync: ([OpenFile]) -> [() -> RecordingError?]
    ) -> Sync {
        var changed: [(target: Target, file: OpenFile)] = []
        if failures[session] == nil {
            for target in (targets[session] ?? [:]).values {
                attempt(target) { () throws(RecordingError) in
                    try settleSync(of: target)
                    try target.file.write()
                }
            }
            changed = (targets[session] ?? [:]).values.compactMap { target in
                target.file.beginSync().map { (target, $0) }
            }
        }
        syncs += 1
        for ((target, _), outcome) in zip(changed, sync(changed.map(\.file))) { target.syncing = (syncs, outcome) }
        return Sync(targets: changed.map(\.target), number: syncs)
    }

    /// Takes the results of a sync.
    /// - Returns: why the session's files are not durable; nil if they are.
    package func endSync(_ sync: Sync, of session: SessionIdentifier) -> RecordingError? {
        for target in sync.targets where target.syncing?.number == sync.number {
            attempt(target) { () throws(RecordingError) in try settleSync(of: target) }
        }
        return failures[session]
    }

    /// Waits until a file has no sync in progress, and takes its result.
    private func settleSync(of target: Target) throws(RecordingError) {
        guard let syncing = target.syncing else { return }
        target.syncing = nil
        try target.file.noteSync(syncing.outcome())
    }

    // MARK: Ends

    package func forget(_ session: SessionIdentifier) {
        targets[session] = nil
        numbers = numbers.filter { $0.value.session != session }
        waiting.removeAll { $0.session == session }
        failures[session] = nil
    }

    /// Rebuilds a failed session's files from the log and its directory, and finishes them.
    /// - Parameter failures: why the session failed.
    /// - Returns: the record to store.
    package func finish(
        _ directory: SessionDirectory, log: Directory, failures: [String]
    ) -> Result<SessionRecord, RecordingError> {
        Result { () throws(RecordingError) in
            for target in (targets[directory.session] ?? [:]).values {
                // The reason of the failure is already known.
                try? settleSync(of: target)
                try target.file.replaceAfterFailedSync()
            }
            forget(directory.session)
            return try directory.finishFiles(from: log, failures: failures, calls: calls)
        }
    }

    /// Writes all waiting records, as far as possible: for a program that is about to be killed.
    package func writeAll() {
        for target in targets.values.flatMap(\.values) { try? target.file.write() }
    }
}
