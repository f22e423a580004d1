import Files
import Recording
import SystemPackage

/// The note in a data directory about the lease under which its sessions were recorded: `lease.json`, or `lease-2-of-3.json` for
/// a shard.
struct LeaseDirectory {
    private struct Note: Codable {
        var schema = "lease-note.v1"
        var lease: String
        /// The last term in which a recorder ran here.
        var term: Int
    }

    let data: FilePath
    let lease: String
    /// The recorder's shard; nil if no other recorder shares the directory.
    let shard: Shard?

    private var name: String { "lease\(shard?.fileSuffix ?? "").json" }

    /// The last term in which a recorder ran here; nil if none did under this lease.
    func term() throws(RecordingError) -> Int? {
        let directory = Directory(data)
        guard directory.contains(name) else { return nil }
        let note = try StoredJSON.read(Note.self, from: name, in: directory)
        return note.lease == lease ? note.term : nil
    }

    /// Prepares the directory for a term.
    /// - Parameter setsAside: whether another machine has recorded since. This machine then does not continue its interrupted
    ///   sessions.
    /// - Returns: the new paths of the sessions that were set aside.
    /// - Throws: `locked` if a recorder of the shard runs here.
    func prepare(term: Int, setsAside: Bool) throws(RecordingError) -> [FilePath] {
        let lock = try DataLock.acquire(in: data, shard: shard)
        defer { withExtendedLifetime(lock) {} }
        let moved = setsAside ? try SessionDirectory.setAsideInterrupted(in: data, of: shard, before: term) : []
        try Directory(data).replace(name, with: StoredJSON.document(Note(lease: lease, term: term)))
        return moved
    }
}
