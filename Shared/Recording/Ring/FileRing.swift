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
    /// - Parameter finishedAt: when this run of the recorder finished it, on the monotonic clock: a wall clock that is set forward
    ///   must not make a file old. Nil for a file of an earlier run, which has its name alone.
    package func isExpired(
        _ file: FinishedFile, of log: LogName, finishedAt: Int64? = nil, at now: Moment
    ) -> Bool {
        if let finishedAt, now.monotonic.subtractingClamped(finishedAt) < keep { return false }
        guard let finished = FinishedName(file.name, of: log)?.date else { return false }
        let end = finished.nanosecondsSince1970.addingClamped(1_000_000_000).addingClamped(keep)
        return end <= now.date.nanosecondsSince1970
    }

    /// Whether a file has samples of a time that somebody keeps, or was written then. One of which it is not known may have any
    /// samples from before it was finished.
    package func isKept(_ file: FinishedFile, of log: LogName) -> Bool {
        kept.contains { Self.overlaps(file, of: log, $0, since: startDate) }
    }

    /// Whether a file may have samples of a time, or was written then: the date of samples is their publisher's, whose clock may be
    /// wrong.
    package static func overlaps(
        _ file: FinishedFile, of log: LogName, _ time: KeptTime, since startDate: WallTime
    ) -> Bool {
        let start = time.from.seconds(since: startDate)
        let end = time.to.seconds(since: startDate)
        if let begun = file.begun, let ended = file.ended, ended >= start, begun <= end { return true }
        guard let from = file.from, let to = file.to else {
            guard let finished = FinishedName(file.name, of: log)?.date else { return true }
            return finished.nanosecondsSince1970.addingClamped(1_000_000_000) >= time.from.nanosecondsSince1970
        }
        return to >= start && from <= end
    }
}
