import DequeModule
import Messages
import SampleSources

/// Notices that the machine slept: the clock of uptimes stood still meanwhile, and CLOCK_BOOTTIME continued (man 2 clock_gettime).
///
/// How far the two are apart never shrinks. CLOCK_BOOTTIME is to be read first: a thread that is held up between the two
/// readings then sees too small a difference, which hides a sleep until the next look, but never invents one.
package struct SleepWatch: Sendable {
    /// The shortest sleep that is noticed, in nanoseconds.
    package static let shortestSleep: Int64 = 1_000_000

    /// How many sleeps are remembered: samples are kept for minutes.
    private static let maximumSleeps = 1_000

    /// The smallest step between two uptimes that every listener can tell, in nanoseconds.
    static let leastStep: Int64 = 1_000

    /// How far the clocks are apart.
    private(set) var difference: Int64
    /// The uptimes at which sleeps were noticed, and the nanoseconds slept.
    private var sleeps: Deque<(uptime: Int64, slept: Int64)> = []

    /// Begins with what two clocks say.
    package init(elapsed: Int64, uptime: Int64) {
        difference = elapsed - uptime
    }

    /// Looks at the clocks, of which `elapsed` was read first.
    ///
    /// - Returns: how long the machine slept since the last look, in nanoseconds; nil if it did not.
    package mutating func notice(elapsed: Int64, uptime: Int64) -> Int64? {
        let slept = elapsed - uptime - difference
        guard slept > Self.shortestSleep else { return nil }
        difference += slept
        if sleeps.count == Self.maximumSleeps { sleeps.removeFirst() }
        sleeps.append((uptime, slept))
        return slept
    }

    /// What the other clock says at an uptime since the last sleep.
    package func elapsed(at uptime: Int64) -> Int64 { uptime + difference }

    /// The uptime at which the other clock said something.
    ///
    /// It stood still while the machine slept: what happened then is placed right behind the wake.
    package func uptime(ofElapsed elapsed: Int64) -> Int64 {
        var difference = difference
        for (wake, slept) in sleeps.reversed() {
            let before = difference - slept
            if elapsed - before > wake { return max(elapsed - difference, wake + Self.leastStep) }
            difference = before
        }
        return elapsed - difference
    }

    /// What a batch says of the clocks: its date is set back by how long the machine slept since its last sample, so that dates of its
    /// samples are right. Those of the moment in which the machine fell asleep were taken before.
    /// - Parameter rows: each the uptime in seconds and the values of the fields.
    func reading(of rows: ArraySlice<Double>, count: Int, at clock: ClockReading) -> ClockReading {
        ClockReading(uptime: clock.uptime, date: clock.date.adding(-slept(sinceLastOf: rows, count: count)))
    }

    /// How far the clocks were apart at a batch's last sample, by the sleeps that were noticed: the same for two batches unless the
    /// machine slept between them.
    func difference(at rows: ArraySlice<Double>, count: Int) -> Int64 {
        difference - slept(sinceLastOf: rows, count: count)
    }

    /// How long the machine slept since a batch's last sample.
    private func slept(sinceLastOf rows: ArraySlice<Double>, count: Int) -> Int64 {
        guard !sleeps.isEmpty, count > 0 else { return 0 }
        return slept(since: Nanoseconds.from(seconds: rows[rows.endIndex - rows.count / count]) ?? .max)
    }

    /// How long the machine slept since an uptime.
    func slept(since uptime: Int64) -> Int64 {
        sleeps.reversed().prefix { $0.uptime >= uptime }.reduce(0) { $0 + $1.slept }
    }
}
