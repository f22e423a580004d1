/// A session that was interrupted, repaired and ready to continue.
package struct RecoveredSession: Sendable {
    /// What is known of it, with what its files say: finished files, counts, gaps and places as they are on disk.
    package var record: SessionRecord
    /// The logs of the record.
    package var logs: [LogName: RecoveredLog] = [:]
    /// Batches that waited for samples before them, in the order in which they arrived.
    package var held: [SessionRedo.HeldBatch] = []
    /// How many finished files of each log `session.json` lists. No others were announced.
    package var listedFiles: [LogName: Int] = [:]
    /// Whether the write-ahead log led here. Otherwise its files alone did, and it does not know their places.
    package var isFromLog: Bool
}

/// How far a log came before it was interrupted, besides what its entry in the session's record says.
package struct RecoveredLog: Sendable {
    /// `nil` if the log is closed, and if the file does not exist although it should: then it must be made anew.
    package let file: StreamFile.Extent?
    /// Where each epoch continues, in the order in which they were met, the current one last.
    package let positions: [Marker.Position]

    package init(file: StreamFile.Extent?, positions: [Marker.Position]) {
        (self.file, self.positions) = (file, positions)
    }
}
