import Recording
import SystemPackage

/// What a session has on disk from its beginning: its directory, its record, its journal.
struct SessionFiles: Sendable {
    let directory: SessionDirectory
    let store: RecordStore
    let journal: Journal

    /// Makes them. Waits for the disk.
    init(creating record: SessionRecord, in data: FilePath) throws(RecordingError) {
        directory = try SessionDirectory.create(record.session, in: data)
        store = RecordStore(directory)
        do {
            // First the record: a directory without one is no session's.
            try store.write(StoredRecord(record: record, version: 0))
            journal = try Journal(creatingIn: directory.directory)
        } catch {
            // Its name must be free for another try.
            directory.discard()
            throw error
        }
    }

    /// Those of a session that was cut off.
    init(_ recovered: RecoveredSession, in directory: SessionDirectory) {
        self.directory = directory
        store = RecordStore(directory)
        journal = recovered.journal
    }
}
