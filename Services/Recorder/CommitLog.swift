import Recording
import ZeroMQ

/// A session's group commits: syncs its logs, then says so in its journal, on a thread that may wait for the disk.
actor CommitLog {
    private let journal: Journal
    private let thread: SocketThread

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(journal: sending Journal, thread: SocketThread) {
        self.journal = journal
        self.thread = thread
    }

    /// Makes what was written durable. When this returns, everything that the points cover would survive a power cut.
    func commit(_ points: [(file: OpenFile, entry: JournalEntry)]) throws(RecordingError) {
        for point in points { try point.file.sync() }
        try journal.append(points.map(\.entry))
    }
}
