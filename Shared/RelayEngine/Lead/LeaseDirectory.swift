import Files
import Recording
import SystemPackage

/// What a data directory says of the lease under which its sessions were recorded: `lease.json`.
struct LeaseDirectory {
    private struct Note: Codable {
        var schema = "lease-note.v1"
        var lease: String
        /// The last term in which a recorder ran here.
        var term: Int
    }

    private static let name = "lease.json"

    let data: FilePath
    let lease: String

    /// The last term in which a recorder ran here; nil if none did under this lease.
    func term() throws(RecordingError) -> Int? {
        let directory = Directory(data)
        guard directory.contains(Self.name) else { return nil }
        let note = try StoredJSON.read(Note.self, from: Self.name, in: directory)
        return note.lease == lease ? note.term : nil
    }

    /// Makes the directory ready for a term.
    /// - Parameter setsAside: whether another machine recorded since: then its interrupted sessions are not continued here.
    /// - Returns: where those are now.
    /// - Throws: `locked` if a recorder runs here.
    func prepare(term: Int, setsAside: Bool) throws(RecordingError) -> [FilePath] {
        let lock = try DataLock.acquire(in: data)
        defer { withExtendedLifetime(lock) {} }
        let moved =
            setsAside ? try SessionDirectory.setAsideInterrupted(in: data, suffix: ".before-term-\(term)") : []
        try Directory(data).replace(Self.name, with: StoredJSON.document(Note(lease: lease, term: term)))
        return moved
    }
}
