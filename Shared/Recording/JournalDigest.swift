import Messages

/// What of a journal is needed to go on after a crash; the rest may be forgotten.
///
/// Of each log: the last commit, by index, and all lines decided after it, since the file may end anywhere behind that
/// commit; and the latest line of each epoch before it, for the places of epochs that may come again. Lines that a later
/// one has overtaken, because what they spoke of was cut off, count no more.
package struct JournalDigest: Sendable {
    fileprivate struct Log {
        /// The latest line of each epoch but the last commit's that was decided before it, by epoch.
        var epochs: [String: JournalEntry] = [:]
        /// The last commit and what was decided after it, in no order.
        var recent: [JournalEntry] = []
        var lastCommit: JournalEntry?
    }

    private var logs: [LogName: Log] = [:]

    package init() {}

    /// Adds a line. Lines may come in another order than that in which they were decided.
    package mutating func add(_ entry: JournalEntry) {
        logs[entry.log, default: Log()].add(entry)
    }

    /// The lines that are needed, those of a log in the order in which they were decided.
    package var entries: [JournalEntry] {
        logs.sorted { $0.key < $1.key }.flatMap { log in
            (log.value.epochs.values + log.value.recent).sorted { $0.index < $1.index }
        }
    }
}

extension JournalDigest.Log {
    mutating func add(_ entry: JournalEntry) {
        if recent.contains(where: { entry.isOvertaken(by: $0) }) { return }
        recent.removeAll { $0.isOvertaken(by: entry) }
        if lastCommit?.isOvertaken(by: entry) ?? false {
            // Not even what was committed was there.
            lastCommit = nil
            epochs = epochs.filter { !$0.value.isOvertaken(by: entry) }
        }
        if entry.kind == .commit, entry.index > lastCommit?.index ?? -1 {
            lastCommit = entry
            epochs[entry.epoch] = nil
            for old in recent where old.index < entry.index { keep(old) }
            recent.removeAll { $0.index < entry.index }
        }
        if entry.index < lastCommit?.index ?? 0 { keep(entry) } else { recent.append(entry) }
    }

    private mutating func keep(_ entry: JournalEntry) {
        if entry.epoch == lastCommit?.epoch || epochs[entry.epoch].map({ $0.index > entry.index }) ?? false { return }
        epochs[entry.epoch] = entry
    }
}

extension JournalEntry {
    /// Whether a later line is about a place before this one's.
    fileprivate func isOvertaken(by later: JournalEntry) -> Bool {
        index < later.index && later.place < place
    }
}
