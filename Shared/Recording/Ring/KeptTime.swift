package import Messages

/// A time range of a session, including both ends, whose files the ring does not remove.
package struct KeptTime: Codable, Hashable, Sendable {
    package var from: WallTime
    package var to: WallTime

    package init(from: WallTime, to: WallTime) {
        self.from = from
        self.to = to
    }
}

extension [KeptTime] {
    /// Adds a time range, and merges those that touch.
    /// - Returns: the range that now includes `time`.
    package mutating func insert(_ time: KeptTime) -> KeptTime {
        var whole = time
        for other in self where other.from <= time.to && time.from <= other.to {
            whole.from = Swift.min(whole.from, other.from)
            whole.to = Swift.max(whole.to, other.to)
        }
        removeAll { $0.from >= whole.from && $0.to <= whole.to }
        insert(whole, at: firstIndex { $0.from > whole.from } ?? endIndex)
        return whole
    }
}
