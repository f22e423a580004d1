package import Messages

/// One line of a session's journal: how far a log had come.
///
/// A line says: when the file is `bytes` long, the sample of `epoch` that comes next in it is `next`. Between two lines
/// each sample record counts one sequence on, and a gap marker goes to the end of its gap. So the place at which a log
/// goes on after a crash is known exactly, also when its last records were never committed: the last line that is not
/// longer than the file, and the records behind it.
package struct JournalEntry: Codable, Hashable, Sendable {
    /// Why the line was written.
    package enum Kind: String, Codable, Hashable, Sendable {
        /// A group commit: everything up to here is on disk and survives a power cut.
        case commit
        /// Sequences go on elsewhere from here: another epoch, or after samples that are not in the log (taken during a
        /// pause, or before the session). Written ahead of the records that follow.
        case position
    }

    package var kind: Kind
    /// Counts the lines about this log in the order in which they were decided. Commits are written by another thread
    /// than positions, so lines may stand in another order.
    package var index: Int
    /// The log.
    package var log: LogName
    /// Which of the log's files, counted from 0 in the order of their finishing.
    package var segment: Int
    /// The length of the file, its terminator included.
    package var bytes: Int
    /// Samples in the file.
    package var samples: Int
    /// The publisher's epoch of the latest sample, or of the one that comes next.
    package var epoch: String
    /// The sequence, in that epoch, of the sample that comes next.
    package var next: Int
    /// What was counted of the whole stream so far.
    package var counts: StreamCounts
    /// On a line that is written before a file gets its final name, and says where the next one begins: the length of that
    /// file. One that is shorter was torn by a power cut.
    package var sealedBytes: Int?
    /// When it was written.
    package var date: WallTime

    package init(
        _ kind: Kind, index: Int, log: LogName, segment: Int, bytes: Int, samples: Int, epoch: String, next: Int,
        counts: StreamCounts = StreamCounts(), sealedBytes: Int? = nil, date: WallTime
    ) {
        self.kind = kind
        self.index = index
        self.log = log
        self.segment = segment
        self.bytes = bytes
        self.samples = samples
        self.epoch = epoch
        self.next = next
        self.counts = counts
        self.sealedBytes = sealedBytes
        self.date = date
    }
}

/// What became of the samples of a stream, over all files of its log.
package struct StreamCounts: Codable, Hashable, Sendable {
    /// Samples written.
    package var written = 0
    /// Samples left out because they were taken during a pause.
    package var paused = 0
    /// Of both, those that had to be asked for again.
    package var recovered = 0
    /// Samples that arrived more than once.
    package var duplicates = 0

    package init() {}

    /// Samples that arrived, in the first delivery or by replay.
    package var received: Int { written + paused }
}
