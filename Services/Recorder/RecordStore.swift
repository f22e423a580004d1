import Recording
import Synchronization

/// What a session knows, at one moment.
struct StoredRecord: Sendable {
    var record: SessionRecord
    /// Counts the moments.
    let version: Int
}

/// Stores what a session knows, from whichever thread has something new to say. What is older than what is stored
/// already is passed over.
final class RecordStore: Sendable {
    private let directory: SessionDirectory
    private let stored = Mutex(-1)

    init(_ directory: SessionDirectory) {
        self.directory = directory
    }

    /// Replaces `session.json`.
    func write(_ record: StoredRecord) throws(RecordingError) {
        try stored.withLock { stored throws(RecordingError) in
            guard record.version > stored else { return }
            try directory.write(record.record)
            stored = record.version
        }
    }
}
