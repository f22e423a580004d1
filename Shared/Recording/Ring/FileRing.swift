package import Messages

/// Decides which finished files of a session with a ring are removed: those finished long enough ago, except files with samples
/// of a kept time. Pure.
package struct FileRing: Sendable {
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

    /// Whether a file was finished long enough ago. A publisher's wrong clock has no influence.
    /// - Parameter finishedAt: when this recorder process finished the file, on the monotonic clock: a wall clock that is set
    ///   must not make a file old or young. Nil for a file of an earlier process, for which only the name is known: it states
    ///   the second, on the recorder's wall clock.
    package func isExpired(
        _ file: FinishedFile, of log: LogName, finishedAt: Int64? = nil, at now: Moment
    ) -> Bool {
        if let finishedAt { return now.monotonic.subtractingClamped(finishedAt) >= keep }
        guard let finished = FinishedName(file.name, of: log)?.date else { return false }
        let end = finished.nanosecondsSince1970.addingClamped(1_000_000_000).addingClamped(keep)
        return end <= now.date.nanosecondsSince1970
    }

    /// Whether a file has samples of a kept time, or was written then. If the times of its samples are unknown, it may have any
    /// samples from before it was finished.
    package func isKept(_ file: FinishedFile, of log: LogName) -> Bool {
        kept.contains { Self.overlaps(file, of: log, $0, since: startDate) }
    }

    /// Whether a file may have samples of a time range, or was written then: the date of samples is by their publisher's clock,
    /// which may be wrong.
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
