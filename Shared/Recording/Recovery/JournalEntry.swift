import Files
import Messages

/// One line of a session's `journal.ndjson`, as versions up to 0.6 wrote it: how far a log had come. The write-ahead log replaced
/// it; the journal is read so that sessions of these versions can be verified and resumed.
///
/// A line states: when the file is `bytes` long, its next sample is `next` of `epoch`. Between two lines, each sample record
/// advances the sequence by one, and a gap marker advances it to the end of its gap.
struct JournalEntry: Codable, Hashable, Sendable {
    static let fileName = "journal.ndjson"

    enum Kind: String, Codable, Hashable, Sendable {
        /// Everything up to here is on disk and survives a power cut.
        case commit
        /// Sequences jump here: to another epoch, or past samples that are not in the log (taken during a pause, or before the
        /// session). Written ahead of the records that follow.
        case position
    }

    var kind: Kind
    /// Numbers the lines about this log in the order in which they were decided; the file may have another order.
    var index: Int
    var log: LogName
    /// The index of the log's file, from 0.
    var segment: Int
    /// The length of the file, its terminator included.
    var bytes: Int
    var samples: Int
    /// The publisher's epoch of the latest sample, or of the next one.
    var epoch: String
    /// The sequence number of the next sample in that epoch.
    var next: Int
    var counts = StreamCounts()
    /// On a line that is written before a file gets its final name, and states where the next file begins: the length of the
    /// finished file. If the file is shorter, a power cut tore it.
    var sealedBytes: Int?
    var date: WallTime

    /// Whether the line is about a place at or before `bytes` of a file.
    func isReached(at bytes: Int, of segment: Int) -> Bool { (self.segment, self.bytes) <= (segment, bytes) }

    /// The lines of a journal, oldest first, up to the first torn one; none if there is no journal.
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

    /// The valid lines about each log, in the order in which they were decided.
    ///
    /// A later line about an earlier place supersedes a line: what the line described was then truncated.
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
