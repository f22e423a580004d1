import Messages
import SystemPackage

/// The list of a session's group commits, `journal.ndjson`: one line per commit and log.
///
/// The logs must be synced before an entry about them is appended. Not Sendable: one thread appends.
package final class Journal {
    /// Its name in the session's directory.
    package static let fileName = "journal.ndjson"

    private let file: GrowingFile

    /// Makes an empty journal.
    package init(creatingIn directory: Directory, calls: FileCalls = .system) throws(RecordingError) {
        file = try GrowingFile(
            creating: directory.path.appending(Self.fileName), opening: [], terminator: [], calls: calls)
    }

    /// Adds entries in one write, and waits until they would survive a power cut.
    package func append(_ entries: [JournalEntry]) throws(RecordingError) {
        if entries.isEmpty { return }
        var lines: [UInt8] = []
        for entry in entries {
            lines += StoredJSON.line(entry)
            lines.append(UInt8(ascii: "\n"))
        }
        try lines.withUnsafeBufferPointer { lines throws(RecordingError) in
            try file.append(UnsafeRawBufferPointer(lines))
        }
        try file.handle.sync()
    }

    /// What a journal says.
    package struct Contents: Hashable, Sendable {
        /// The entries, oldest first.
        package var entries: [JournalEntry]
        /// How many bytes of the file they take up. What follows was torn by a power cut and says nothing.
        package var validBytes: Int
    }

    /// Reads a session's journal up to the first line that is torn.
    ///
    /// - Throws: `notFound`, `notPermitted` or `inputOutput`.
    package static func read(in directory: Directory) throws(RecordingError) -> Contents {
        let bytes = try directory.read(fileName)
        var contents = Contents(entries: [], validBytes: 0)
        while let end = bytes[contents.validBytes...].firstIndex(of: UInt8(ascii: "\n")),
            let entry = try? WireCoding.decode(JournalEntry.self, from: bytes[contents.validBytes..<end])
        {
            contents.entries.append(entry)
            contents.validBytes = end + 1
        }
        return contents
    }
}
