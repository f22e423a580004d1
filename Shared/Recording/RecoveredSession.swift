/// A session that was cut off, repaired and ready to go on.
package struct RecoveredSession {
    /// What is known of it, with what its files say: finished files, counts, gaps and places as they are on disk.
    package var record: SessionRecord
    package let journal: Journal
    /// The logs of the record.
    package var logs: [LogName: RecoveredLog]
}
