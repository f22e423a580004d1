import DequeModule
import Messages
import SampleSources

/// Notices that the machine slept: CLOCK_BOOTTIME continued meanwhile, and the clock of uptimes did not (man 2 clock_gettime).
///
/// The distance between the two never shrinks. CLOCK_BOOTTIME must be read first: if the thread is held up between the two
/// readings, the difference is too small, which hides a sleep until the next check, but never invents one.
package struct SleepWatch: Sendable {
    /// The shortest sleep that is noticed, in nanoseconds.
    package static let shortestSleep: Int64 = 1_000_000

    /// How many sleeps are remembered: samples are kept for minutes.
    private static let maximumSleeps = 1_000

    /// The smallest step between two uptimes that every subscriber can distinguish, in nanoseconds.
    static let leastStep: Int64 = 1_000

    /// How far CLOCK_BOOTTIME is ahead of uptimes, in nanoseconds.
    private(set) var difference: Int64
    /// The uptimes at which sleeps were noticed, and the nanoseconds slept.
    private var sleeps: Deque<(uptime: Int64, slept: Int64)> = []

    /// Begins with a reading of both clocks, in nanoseconds.
    package init(elapsed: Int64, uptime: Int64) {
        difference = elapsed - uptime
    }

    /// Compares the clocks. `elapsed` must be read first.
    ///
    /// - Returns: how long the machine slept since the last check, in nanoseconds; nil if it did not.
    package mutating func notice(elapsed: Int64, uptime: Int64) -> Int64? {
        let slept = elapsed - uptime - difference
        guard slept > Self.shortestSleep else { return nil }
        difference += slept
        if sleeps.count == Self.maximumSleeps { sleeps.removeFirst() }
        sleeps.append((uptime, slept))
        return slept
    }

    /// The time of CLOCK_BOOTTIME at an uptime since the last sleep.
    package func elapsed(at uptime: Int64) -> Int64 { uptime + difference }

    /// The uptime at a time of CLOCK_BOOTTIME.
    ///
    /// Uptimes stood still while the machine slept: a time within a sleep is placed right behind the wake.
    package func uptime(ofElapsed elapsed: Int64) -> Int64 {
        var difference = difference
        for (wake, slept) in sleeps.reversed() {
            let before = difference - slept
            if elapsed - before > wake { return max(elapsed - difference, wake + Self.leastStep) }
            difference = before
        }
        return elapsed - difference
    }

    /// The clock reading of a batch. Its date is set back by how long the machine slept since the batch's last sample, so that
    /// the samples' dates are right. A sample at the uptime of a sleep counts as taken before it.
    ///
    /// After a sleep, the reading has `elapsed` too: a subscriber that lost the description at the wake, or requests samples
    /// later, then knows on which side of the sleep they were taken.
    /// - Parameter rows: each the uptime in seconds and the values of the fields.
    func reading(of rows: ArraySlice<Double>, count: Int, at clock: ClockReading) -> ClockReading {
        guard !sleeps.isEmpty else { return clock }
        let slept = slept(sinceLastOf: rows, count: count)
        return ClockReading(
            uptime: clock.uptime, date: clock.date.adding(-slept),
            elapsed: clock.uptime + Nanoseconds.seconds(difference - slept))
    }

    /// How far the clocks were apart at a batch's last sample, in nanoseconds, by the sleeps that were noticed: the same for two
    /// batches unless the machine slept between them.
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
