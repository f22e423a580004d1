/// Up to where a session's documents and files include the write-ahead log.
package struct LogPosition: Codable, Hashable, Sendable {
    package var log: String
    /// The position before which everything is in `session.json`.
    package var recorded: Int
    /// The position before which everything is in the stream files, and durable there.
    package var written: Int

    package init(log: String, recorded: Int, written: Int) {
        self.log = log
        self.recorded = recorded
        self.written = written
    }
}

/// A place in a stream's files up to which they are durable.
package struct DurablePlace: Codable, Hashable, Sendable {
    /// The index of the log's file, from 0.
    package var file: Int
    /// The file's length at that place, terminator included.
    package var bytes: Int
    /// The samples in that part.
    package var samples: Int
    /// The epoch of the next sample, and its sequence there.
    package var epoch: String
    package var next: Int

    package init(file: Int, bytes: Int, samples: Int, epoch: String, next: Int) {
        self.file = file
        self.bytes = bytes
        self.samples = samples
        self.epoch = epoch
        self.next = next
    }
}
