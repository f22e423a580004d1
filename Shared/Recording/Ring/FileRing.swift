package import Messages

/// Decides which finished files of a session with a ring are removed: those that were finished long enough ago, but none with
/// samples of a time that somebody keeps. Pure.
package struct FileRing: Sendable {
    /// When the session started.
    private let startDate: WallTime
    /// Nanoseconds.
    private let keep: Int64
    private let kept: [KeptTime]

    /// - Returns: nil for a session without a ring.
    package init?(_ record: SessionRecord) {
        guard let keep = record.limits.keep else { return nil }
        self.keep = Int64(nanosecondsIn: keep)
        kept = record.kept ?? []
        startDate = record.startDate
    }

    /// Whether a file was finished long enough ago. Its name has the second, on the recorder's clock: no wrong clock of a publisher
    /// makes it older or younger.
    package func isExpired(_ file: FinishedFile, of log: LogName, at date: WallTime) -> Bool {
        guard let finished = FinishedName(file.name, of: log)?.date else { return false }
        let end = finished.nanosecondsSince1970.addingClamped(1_000_000_000).addingClamped(keep)
        return end <= date.nanosecondsSince1970
    }

    /// Whether a file has samples of a time that somebody keeps. One of which it is not known may have any from before it was
    /// finished.
    package func isKept(_ file: FinishedFile, of log: LogName) -> Bool {
        kept.contains { Self.overlaps(file, of: log, $0, since: startDate) }
    }

    /// Whether a file may have samples of a time.
    package static func overlaps(
        _ file: FinishedFile, of log: LogName, _ time: KeptTime, since startDate: WallTime
    ) -> Bool {
        guard let from = file.from, let to = file.to else {
            guard let finished = FinishedName(file.name, of: log)?.date else { return true }
            return finished.nanosecondsSince1970.addingClamped(1_000_000_000) >= time.from.nanosecondsSince1970
        }
        return to >= time.from.seconds(since: startDate) && from <= time.to.seconds(since: startDate)
    }
}
