/// How far a log had come: which of its files, and how long that was.
struct JournalPlace: Comparable {
    var segment: Int
    /// The terminator included.
    var bytes: Int

    static func < (one: JournalPlace, other: JournalPlace) -> Bool {
        (one.segment, one.bytes) < (other.segment, other.bytes)
    }
}

extension JournalEntry {
    var place: JournalPlace { JournalPlace(segment: segment, bytes: bytes) }

    /// The lines about each log in the order in which they were decided, without the ones that do not count any more.
    ///
    /// A line is overtaken when a later one is about a place before it: what it spoke of was cut off then.
    static func valid(in entries: [JournalEntry]) -> [LogName: [JournalEntry]] {
        Dictionary(grouping: entries, by: \.log).mapValues { entries in
            var valid: [JournalEntry] = []
            for entry in entries.sorted(by: { $0.index > $1.index }) {
                if let next = valid.last, next.place < entry.place { continue }
                valid.append(entry)
            }
            return valid.reversed()
        }
    }
}
