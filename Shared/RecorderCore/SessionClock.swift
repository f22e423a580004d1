package import Messages

/// A session's own date: the wall clock's when the session began, and even progress from then on, although somebody may set the
/// wall clock.
///
/// Steps and pauses are placed by it, because samples are placed by their publisher's uptime, which does not jump either.
package struct SessionClock: Hashable, Sendable {
    /// A smaller difference, in nanoseconds, does not count as a clock that was set.
    private static let leastSet: UInt64 = 1_000_000_000

    /// When the session began or was resumed, with its own date.
    private let anchor: Moment

    /// - Parameter ahead: nanoseconds by which the wall clock is ahead of the session's date.
    package init(at now: Moment, ahead: Int64 = 0) {
        var anchor = now
        anchor.date = now.date.subtracting(ahead)
        self.anchor = anchor
    }

    package func date(at now: Moment) -> WallTime {
        anchor.date.adding(now.monotonic - anchor.monotonic + now.slept - anchor.slept)
    }

    /// Nanoseconds by which the wall clock is ahead of the session's date, because it was set; 0 if it was not.
    package func ahead(at now: Moment) -> Int64 {
        let ahead = now.date.distance(from: date(at: now))
        return ahead.magnitude < Self.leastSet ? 0 : ahead
    }

    /// A reading of a publisher's clocks, in terms of the session's date. Publishers on the recorder's machine have the date that
    /// was set; others may still agree with the session's.
    func reading(_ clock: ClockReading, at now: Moment) -> ClockReading {
        let ahead = ahead(at: now)
        let fromWall = clock.date.distance(from: now.date).magnitude
        guard ahead != 0, fromWall < clock.date.distance(from: date(at: now)).magnitude else { return clock }
        var reading = clock
        reading.date = clock.date.subtracting(ahead)
        return reading
    }

    /// A comparison of a publisher's clock with the recorder's, in terms of the session's date.
    func comparison(_ comparison: ClockComparison, at now: Moment) -> ClockComparison {
        var placed = comparison
        placed.clock = reading(comparison.clock, at: now)
        placed.date = comparison.date.subtracting(ahead(at: now))
        return placed
    }
}

extension WallTime {
    fileprivate func subtracting(_ nanoseconds: Int64) -> WallTime {
        WallTime(nanosecondsSince1970: nanosecondsSince1970.subtractingClamped(nanoseconds))
    }
}
