import Recording
import ZeroMQ

/// A session's group commits: syncs its logs, then says so in its journal, on a thread that may wait for the disk.
actor CommitLog {
    /// What is to be made durable.
    struct Work: Sendable {
        /// What the session knows, where that is to be stored before anything else.
        var record: StoredRecord?
        /// Files to finish, before anything that comes after them.
        var sealed: [StreamLog.SealedSegment] = []
        /// Files to sync.
        var points: [StreamLog.CommitPoint] = []
    }

    /// What was done.
    struct Outcome: Sendable {
        /// The files that are finished, also where something failed after them.
        var finished: [(log: LogName, file: FinishedFile)] = []
        /// Why not everything was done.
        var failure: RecordingError?
    }

    private struct Segment: Hashable {
        let log: LogName
        let index: Int
    }

    private let journal: Journal
    private let store: RecordStore
    private let thread: SocketThread
    private var hashes: [Segment: SegmentHash] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(journal: Journal, store: RecordStore, thread: SocketThread) {
        self.journal = journal
        self.store = store
        self.thread = thread
    }

    /// Makes what was written durable. When this returns without a failure, everything that the work covers would
    /// survive a power cut.
    func commit(_ work: Work) -> Outcome {
        var outcome = Outcome()
        do throws(RecordingError) {
            if let record = work.record { try store.write(record) }
            for sealed in work.sealed {
                let segment = Segment(log: sealed.log, index: sealed.segment)
                let hash = hashes.removeValue(forKey: segment)
                outcome.finished.append((sealed.log, try sealed.file.complete(hash: hash)))
            }
            for point in work.points {
                try point.file.sync()
                guard point.file.isLinked else { throw Self.removed(point.file) }
                let segment = Segment(log: point.entry.log, index: point.entry.segment)
                try hashes[segment, default: SegmentHash()].update(point.file, upTo: point.stableBytes)
            }
            try journal.append(work.points.map(\.entry))
            try journal.sync()
        } catch {
            outcome.failure = error
        }
        return outcome
    }

    private static func removed(_ file: OpenFile) -> RecordingError {
        RecordingError(
            .notFound, action: "go on writing", path: file.path, reason: "somebody removed or replaced it",
            advice: "Keep others out of the data directory while sessions are recorded; start a new recording.")
    }
}
