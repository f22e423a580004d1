/// Decides when a session's files are made durable, so that the older part of the write-ahead log can be deleted. Pure.
package enum CheckpointPace {
    /// Nanoseconds between two checkpoints of a session.
    private static let interval: Int64 = 10_000_000_000
    /// Bytes of the write-ahead log between two checkpoints, at most: a crash recovery reads up to this much, and the system's
    /// memory need not hold more. Writing to new memory costs ten times as much as to memory that is used again.
    private static let bytes = 64 << 20
    /// The same per stream, if there are many: each file is synced by itself.
    private static let bytesPerStream = 1 << 20
    /// Each checkpoint writes the waiting batches into the log again. Other bytes of at least this many times their size come
    /// between two checkpoints.
    private static let heldTimes = 4

    /// The time that counts as a session's last checkpoint when a recorder takes the session on. A resumed session has its first
    /// one sooner, so that a recorder that is killed again and again does not have ever more to recover.
    package static func start(at now: Int64, isResumed: Bool) -> Int64 { isResumed ? now - interval / 2 : now }

    /// Whether the next checkpoint is due.
    /// - Parameters:
    ///   - age: nanoseconds since the last checkpoint.
    ///   - pause: nanoseconds for which the session must not be stored again, derived from how long the last store took.
    ///   - bytes: growth of the write-ahead log since the last checkpoint.
    ///   - streams: number of files to sync.
    ///   - held: bytes of the batches that wait for samples before them.
    package static func isDue(age: Int64, pause: Int64, bytes: Int, streams: Int, held: Int) -> Bool {
        age >= max(interval, pause) || bytes - held >= max(self.bytes, streams * bytesPerStream, heldTimes * held)
    }
}
