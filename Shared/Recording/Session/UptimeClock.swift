package import Messages

/// Turns a publisher's uptimes into times that continue while its machine sleeps.
///
/// An uptime stands still in sleep, so two samples a second apart may have hours between them. This holds what both clocks
/// said at the start, and again at each wake; a time counts from the last of these that is not after it, and a time before
/// the first counts from the first. All times are nanoseconds. Knows no clock: it is told what publishers describe.
package struct UptimeClock: Codable, Hashable, Sendable {
    private struct Reading: Codable, Hashable, Sendable {
        var uptime: Int64
        var elapsed: Int64

        /// How far the clocks are apart. Wraps around where a stranger's clocks make no sense, in place of a trap.
        var difference: Int64 { elapsed &- uptime }
    }

    /// How much further apart the clocks must be before that is a sleep: readings are not exact.
    private static let shortestSleep: Int64 = 1_000_000
    /// How many wakes are remembered, so that a stranger can't fill the memory. A machine that sleeps every minute has a
    /// day; of more, the oldest are forgotten.
    private static let maximumWakes = 1_440

    private var start: Reading
    /// In order of their uptimes.
    private var wakes: [Reading] = []

    package init(uptime: Int64, elapsed: Int64) {
        start = Reading(uptime: uptime, elapsed: elapsed)
    }

    /// Begins with what a publisher's description says; nil if it has no clock that continues in sleep, or makes no sense.
    package init?(_ clock: ClockReading) {
        guard let (uptime, elapsed) = Self.nanoseconds(clock) else { return nil }
        self.init(uptime: uptime, elapsed: elapsed)
    }

    /// Takes what the clocks said later.
    /// - Returns: whether the machine slept since the last wake.
    @discardableResult
    package mutating func note(uptime: Int64, elapsed: Int64) -> Bool {
        let reading = Reading(uptime: uptime, elapsed: elapsed)
        let last = wakes.last ?? start
        let (slept, overflow) = reading.difference.subtractingReportingOverflow(last.difference)
        guard uptime >= last.uptime, !overflow, slept > Self.shortestSleep else { return false }
        if wakes.count == Self.maximumWakes { wakes.removeFirst() }
        wakes.append(reading)
        return true
    }

    /// The same of a publisher's description.
    @discardableResult
    package mutating func note(_ clock: ClockReading) -> Bool {
        Self.nanoseconds(clock).map { note(uptime: $0.uptime, elapsed: $0.elapsed) } ?? false
    }

    /// What must be subtracted from an uptime, and from others between the same two wakes, to get the times since some
    /// other start, sleep included.
    ///
    /// - Parameter start: what must be subtracted before the first wake: the uptime at that other start.
    package func origin(at uptime: Int64, start: Int64) -> Int64 {
        // Nearly all times are after the last wake.
        let reading = wakes.last { $0.uptime <= uptime } ?? self.start
        return start &- (reading.difference &- self.start.difference)
    }

    private static func nanoseconds(_ clock: ClockReading) -> (uptime: Int64, elapsed: Int64)? {
        guard let elapsed = clock.elapsed, clock.isPossible else { return nil }
        return (Int64(nanosecondsIn: clock.uptime), Int64(nanosecondsIn: elapsed))
    }
}
