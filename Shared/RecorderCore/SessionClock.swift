package import Messages
import Recording

/// A session's own date: the wall clock's when the session began, and even progress from then on, although somebody may set the
/// wall clock.
///
/// Steps and pauses are placed by it, because samples are placed by their publisher's uptime, which does not jump either.
package struct SessionClock: Hashable, Sendable {
    /// A smaller difference, in nanoseconds, does not count as a clock that was set.
    private static let leastSet: Int64 = 1_000_000_000

    /// How far, in nanoseconds, a resumed session's date must be in the past to show that an earlier set was undone: `clockSet`
    /// may be a second off.
    private static let leastUndone: Int64 = 10_000_000_000

    /// When the session began or was resumed, with its own date.
    private let anchor: Moment

    package init(at now: Moment) { anchor = now }

    /// The clock of a session that is resumed. The wall clock may have been set while no recorder ran, but the session's date
    /// never goes back.
    init(resuming record: SessionRecord, at now: Moment) {
        let newest = record.newestDate
        var date = now.date.subtracting(record.clockAhead)
        // An earlier set was undone meanwhile.
        if newest.distance(from: date) > Self.leastUndone { date = now.date }
        var anchor = now
        anchor.date = max(date, newest)
        self.anchor = anchor
    }

    package func date(at now: Moment) -> WallTime {
        anchor.date.adding(now.elapsed - anchor.elapsed)
    }

    /// Nanoseconds by which the wall clock is ahead of the session's date, because it was set; 0 if it was not.
    package func ahead(at now: Moment) -> Int64 {
        let ahead = difference(at: now)
        return ahead.magnitude < Self.leastSet ? 0 : ahead
    }

    /// Nanoseconds by which the wall clock is ahead of the session's date, for whatever reason.
    func difference(at now: Moment) -> Int64 { now.date.distance(from: date(at: now)) }

    /// A reading of a publisher's clocks, in terms of the session's date. Publishers on the recorder's machine have the date that
    /// was set; others may still agree with the session's.
    func reading(_ clock: ClockReading, at now: Moment) -> ClockReading {
        reading(clock, at: now.date, ahead: ahead(at: now))
    }

    /// - Parameter wall: the date of the wall clock at the time of the reading.
    private func reading(_ clock: ClockReading, at wall: WallTime, ahead: Int64) -> ClockReading {
        var reading = clock
        reading.date = Self.placed(clock.date, at: wall, ahead: ahead)
        return reading
    }

    /// A date that is either the wall clock's or the session's, in terms of the session's. It counts as the wall clock's if it is
    /// closer to that.
    /// - Parameters:
    ///   - wall: the wall clock's present date.
    ///   - ahead: nanoseconds by which the wall clock is ahead of the session's date.
    static func placed(_ date: WallTime, at wall: WallTime, ahead: Int64) -> WallTime {
        let fromWall = date.distance(from: wall).magnitude
        return fromWall < date.distance(from: wall.subtracting(ahead)).magnitude ? date.subtracting(ahead) : date
    }

    /// A comparison of a publisher's clock with the recorder's, in terms of the session's date. Both were read at one time, which
    /// may be seconds ago.
    func comparison(_ comparison: ClockComparison, at now: Moment) -> ClockComparison {
        var ahead = ahead(at: now)
        // The clock was set back after the comparison.
        if comparison.date.subtracting(ahead).distance(from: date(at: now)) > Self.leastSet { ahead = 0 }
        var placed = comparison
        placed.clock = reading(comparison.clock, at: comparison.date, ahead: ahead)
        placed.date = comparison.date.subtracting(ahead)
        return placed
    }
}

extension SessionRecord {
    /// The latest time at which something of the session is known to have happened. Times at which publishers were heard don't
    /// count: they may be from before the clock was set.
    fileprivate var newestDate: WallTime {
        let change = changes.last.map { startDate.adding(Int64(nanosecondsIn: $0.timestamp)) }
        return ([startDate, change, restarts.last].compactMap(\.self) + clocks.map(\.date)).max() ?? startDate
    }
}
