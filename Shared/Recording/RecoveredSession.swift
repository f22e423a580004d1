/// A session that was interrupted, repaired and ready to continue.
package struct RecoveredSession {
    /// What is known of it, with what its files say: finished files, counts, gaps and places as they are on disk.
    package var record: SessionRecord
    /// The logs of the record.
    package var logs: [LogName: RecoveredLog]
    /// What writes their files.
    package var files: [LogName: StreamFile]
    /// Batches that waited for samples before them, in the order in which they arrived.
    package var held: [SessionRedo.HeldBatch] = []
    /// How many finished files of each log `session.json` lists. No others were announced.
    package var listedFiles: [LogName: Int] = [:]
    /// Whether the write-ahead log led here. Otherwise its files alone did, and it does not know their places.
    package var isFromLog: Bool

    /// What of it may be handed to another thread: all but what writes its files.
    package struct Values: Sendable {
        package let record: SessionRecord
        package let logs: [LogName: RecoveredLog]
        package let held: [SessionRedo.HeldBatch]
        package let listedFiles: [LogName: Int]
        package let isFromLog: Bool
    }

    package var values: Values {
        Values(record: record, logs: logs, held: held, listedFiles: listedFiles, isFromLog: isFromLog)
    }
}
