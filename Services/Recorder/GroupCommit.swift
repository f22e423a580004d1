import Recording
import ZeroMQ

/// Makes what sessions wrote durable: syncs their logs, then says so in their journals, on a thread that may wait for
/// the disk.
///
/// A disk may take 20 ms for a sync and a recorder have dozens of logs, so all files of a commit are synced at the same
/// time, and then all journals: what a power cut costs is the sync interval and two syncs, however many logs there are.
actor GroupCommit {
    /// What is to be made durable of one session.
    struct Work: Sendable {
        let files: SessionFiles
        /// What the session knows, where that is to be stored before the journal speaks of it.
        var record: StoredRecord?
        /// Files to finish, before anything that comes after them.
        var sealed: [StreamLog.SealedSegment] = []
        /// Files to sync.
        var points: [StreamLog.CommitPoint] = []
    }

    /// What was done for one session.
    struct Outcome: Sendable {
        /// The files that are finished, also where something failed after them.
        var finished: [(log: LogName, file: FinishedFile)] = []
        /// Why not everything was done.
        var failure: RecordingError?
    }

    private struct Segment: Hashable {
        let session: SessionIdentifier
        let log: LogName
        let index: Int
    }

    /// How many bytes may be hashed after one commit, over all logs: after a restart there is much to catch up with.
    private static let hashedAtOnce = 16 << 20

    private let thread: SocketThread
    private let syncs = SyncQueues()
    private var hashes: [Segment: SegmentHash] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(thread: SocketThread) {
        self.thread = thread
    }

    /// Makes what was written durable. What an outcome without a failure covers would survive a power cut.
    /// - Returns: an outcome for each session's work, in order.
    func commit(_ works: [Work]) -> [Outcome] {
        var failures = [RecordingError?](repeating: nil, count: works.count)
        failures = syncs.run(
            works.indices.flatMap { Self.syncs(of: works[$0], owner: $0) }, failures: failures)
        // What is not synced must not stand in the journal.
        failures = syncs.run(
            works.indices.filter { failures[$0] == nil && (!works[$0].points.isEmpty || !works[$0].sealed.isEmpty) }
                .map { Self.journaling(works[$0], owner: $0) }, failures: failures)
        var left = Self.hashedAtOnce
        return zip(works, failures).map { work, failure in
            var outcome = Outcome(failure: failure)
            guard failure == nil else { return outcome }
            do throws(RecordingError) {
                try finish(work, &outcome, hashing: &left)
            } catch {
                outcome.failure = error
            }
            return outcome
        }
    }

    /// Forgets what belongs to a session that is over.
    func forget(_ session: SessionIdentifier) {
        hashes = hashes.filter { $0.key.session != session }
    }

    /// What may be done at the same time, and must be before the journal's turn.
    private static func syncs(of work: Work, owner: Int) -> [SyncQueues.Job] {
        typealias Job = SyncQueues.Job
        var jobs: [Job] = []
        if let record = work.record {
            jobs.append(Job(owner: owner) { () throws(RecordingError) in try work.files.store.write(record) })
        }
        for sealed in work.sealed {
            jobs.append(Job(owner: owner) { () throws(RecordingError) in try sealed.file.file.sync() })
        }
        // A final name must be durable before the journal speaks of the file after it.
        if !work.sealed.isEmpty {
            jobs.append(Job(owner: owner) { () throws(RecordingError) in try work.files.directory.directory.sync() })
        }
        for point in work.points {
            jobs.append(Job(owner: owner) { () throws(RecordingError) in try sync(point) })
        }
        return jobs
    }

    private static func sync(_ point: StreamLog.CommitPoint) throws(RecordingError) {
        try point.file.sync()
        guard point.file.isLinked else { throw removed(point.file) }
    }

    private static func journaling(_ work: Work, owner: Int) -> SyncQueues.Job {
        SyncQueues.Job(owner: owner) { () throws(RecordingError) in
            try work.files.journal.append(work.points.flatMap(\.entries))
            try work.files.journal.sync()
        }
    }

    /// Finishes files and goes on hashing the others, when all is durable.
    private func finish(_ work: Work, _ outcome: inout Outcome, hashing left: inout Int) throws(RecordingError) {
        let session = work.files.directory.session
        for sealed in work.sealed {
            let hash = hashes.removeValue(
                forKey: Segment(session: session, log: sealed.log, index: sealed.segment))
            outcome.finished.append((sealed.log, try sealed.file.certify(hash: hash)))
        }
        for point in work.points {
            let segment = Segment(session: session, log: point.log, index: point.segment)
            let before = hashes[segment]?.count ?? 0
            try hashes[segment, default: SegmentHash()].update(point.file, upTo: point.stableBytes, atMost: left)
            left -= (hashes[segment]?.count ?? 0) - before
        }
    }

    private static func removed(_ file: OpenFile) -> RecordingError {
        RecordingError(
            .notFound, action: "go on writing", path: file.path, reason: "somebody removed or replaced it",
            advice: "Keep others out of the data directory while sessions are recorded; start a new recording.")
    }
}
