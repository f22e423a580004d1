/// An interrupted session, repaired and ready to be resumed.
package struct RecoveredSession: Sendable {
    /// The session's record, updated from the files: finished files, counts, gaps and places as they are on disk.
    package var record: SessionRecord
    package var logs: [LogName: RecoveredLog] = [:]
    /// Batches that waited for samples before them, in the order in which they arrived.
    package var held: [SessionRedo.HeldBatch] = []
    /// How many finished files of each log `session.json` lists. No others were announced.
    package var listedFiles: [LogName: Int] = [:]
    /// Whether the session was recovered with the recorder's write-ahead log. Otherwise, its files alone or another log were used,
    /// and the recorder's log does not know their places.
    package var isFromLog: Bool
}

/// How far a log came before the interruption, in addition to its entry in the session's record.
package struct RecoveredLog: Sendable {
    /// `nil` if the log is closed, or if the file is missing: then it must be made again.
    package let file: StreamFile.Extent?
    /// Where each epoch continues, in the order in which the epochs were met, the current one last.
    package let positions: [Marker.Position]

    package init(file: StreamFile.Extent?, positions: [Marker.Position]) {
        (self.file, self.positions) = (file, positions)
    }
}
