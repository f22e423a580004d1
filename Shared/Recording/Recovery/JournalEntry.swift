import Files
import Messages

/// One line of a session's `journal.ndjson`, as 0.6 and before wrote it: how far a log had come. The write-ahead log has
/// taken its place; it is read so that sessions of these versions can be verified and continued.
///
/// A line says: when the file is `bytes` long, the sample of `epoch` that comes next in it is `next`. Between two lines
/// each sample record counts one sequence on, and a gap marker goes to the end of its gap.
struct JournalEntry: Codable, Hashable, Sendable {
    static let fileName = "journal.ndjson"

    enum Kind: String, Codable, Hashable, Sendable {
        /// Everything up to here is on disk and survives a power cut.
        case commit
        /// Sequences continue elsewhere from here: another epoch, or after samples that are not in the log (taken during a
        /// pause, or before the session). Written ahead of the records that follow.
        case position
    }

    var kind: Kind
    /// Counts the lines about this log in the order in which they were decided; they may stand in another order.
    var index: Int
    var log: LogName
    /// Which of the log's files, counted from 0.
    var segment: Int
    /// The length of the file, its terminator included.
    var bytes: Int
    var samples: Int
    /// The publisher's epoch of the latest sample, or of the one that comes next.
    var epoch: String
    /// The sequence, in that epoch, of the sample that comes next.
    var next: Int
    var counts = StreamCounts()
    /// On a line that is written before a file gets its final name, and says where the next one begins: the length of that
    /// file. One that is shorter was torn by a power cut.
    var sealedBytes: Int?
    var date: WallTime

    /// Whether the line is about a place at or before this length of a file.
    func isReached(at bytes: Int, of segment: Int) -> Bool { (self.segment, self.bytes) <= (segment, bytes) }

    /// What a journal says, oldest first, up to the first line that is torn; nothing if there is none.
    static func read(in directory: Directory) throws(RecordingError) -> [JournalEntry] {
        guard directory.contains(fileName) else { return [] }
        let bytes = try directory.read(fileName)
        var entries: [JournalEntry] = []
        var start = 0
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")),
            let entry = try? WireCoding.decode(JournalEntry.self, from: bytes[start..<end])
        {
            entries.append(entry)
            start = end + 1
        }
        return entries
    }

    /// The lines about each log in the order in which they were decided, without the ones that do not count any more.
    ///
    /// A line is overtaken when a later one is about a place before it: what it described was truncated then.
    static func valid(in entries: [JournalEntry]) -> [LogName: [JournalEntry]] {
        Dictionary(grouping: entries, by: \.log).mapValues { entries in
            var valid: [JournalEntry] = []
            for entry in entries.sorted(by: { $0.index > $1.index }) {
                if let next = valid.last, !entry.isReached(at: next.bytes, of: next.segment) { continue }
                valid.append(entry)
            }
            return valid.reversed()
        }
    }
}
