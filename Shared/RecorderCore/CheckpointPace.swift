/// Decides when a session's files are made durable, so that the write-ahead log of before can go. Pure.
package enum CheckpointPace {
    /// Nanoseconds between two checkpoints of a session.
    private static let interval: Int64 = 10_000_000_000
    /// Bytes of the write-ahead log between two, at most: so much must be recovered after a crash, and the system's memory
    /// need not hold more. New memory costs ten times as much to write to as memory that is used again.
    private static let bytes = 64 << 20
    /// The same for each stream, if there are many: each file is synced by itself.
    private static let bytesPerStream = 1 << 20
    /// Each checkpoint writes the batches that wait into the log again. So many times as much other bytes come between two.
    private static let heldTimes = 4

    /// When the last one was of a session that a recorder has from now on. A recorder that is killed again and again has its
    /// first one sooner, so that there is not ever more to recover.
    package static func start(at now: Int64, isResumed: Bool) -> Int64 { isResumed ? now - interval / 2 : now }

    /// Whether the next one is due.
    /// - Parameters:
    ///   - age: nanoseconds since the last one.
    ///   - pause: nanoseconds for which the session is not to be stored again, after what storing it took last.
    ///   - bytes: what the write-ahead log took since then.
    ///   - streams: how many files are to be synced.
    ///   - held: bytes of the batches that wait for samples before them.
    package static func isDue(age: Int64, pause: Int64, bytes: Int, streams: Int, held: Int) -> Bool {
        age >= max(interval, pause) || bytes - held >= max(self.bytes, streams * bytesPerStream, heldTimes * held)
    }
}
