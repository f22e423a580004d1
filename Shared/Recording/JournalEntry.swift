package import Messages

/// How far a log had come at a group commit: everything up to here is on disk and survives a power cut.
package struct JournalEntry: Codable, Hashable, Sendable {
    /// The log's file, by its name in the session's directory.
    package var file: String
    /// The length of the file.
    package var bytes: Int
    /// Samples in the file.
    package var samples: Int
    /// The publisher's epoch of the latest sample; empty before the first.
    package var epoch: String
    /// The sequence, in that epoch, of the sample that comes next.
    package var next: Int
    /// When it was committed.
    package var date: WallTime

    package init(file: String, bytes: Int, samples: Int, epoch: String, next: Int, date: WallTime) {
        self.file = file
        self.bytes = bytes
        self.samples = samples
        self.epoch = epoch
        self.next = next
        self.date = date
    }
}
