package import Messages

/// Turns a publisher's uptimes into times that continue while its machine sleeps.
///
/// An uptime stands still in sleep, so two samples a second apart may really be hours apart. This value holds readings of both
/// clocks, from the start and from each wake. A time counts from the last reading that is not after it, and a time before the
/// first reading counts from the first. All times are nanoseconds. It reads no clock: publishers' descriptions have the readings.
package struct UptimeClock: Codable, Hashable, Sendable {
    private struct Reading: Codable, Hashable, Sendable {
        var uptime: Int64
        var elapsed: Int64

        /// The difference between the clocks. If a stranger's clocks make no sense, it wraps around instead of trapping.
        var difference: Int64 { elapsed &- uptime }
    }

    /// By how much the difference must grow to count as a sleep: readings are not exact.
    private static let shortestSleep: Int64 = 1_000_000
    /// Most wakes that are remembered, so that a stranger can't fill the memory: one day of a machine that sleeps every minute.
    /// The oldest are forgotten first.
    private static let maximumWakes = 1_440

    private var start: Reading
    /// In order of their uptimes.
    private var wakes: [Reading] = []

    package init(uptime: Int64, elapsed: Int64) {
        start = Reading(uptime: uptime, elapsed: elapsed)
    }

    /// Begins with the clock in a publisher's description; nil if the clock does not continue in sleep or is not possible.
    package init?(_ clock: ClockReading) {
        guard let (uptime, elapsed) = Self.nanoseconds(clock) else { return nil }
        self.init(uptime: uptime, elapsed: elapsed)
    }

    /// Takes a later reading of the clocks.
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

    /// Takes a later reading from a publisher's description.
    @discardableResult
    package mutating func note(_ clock: ClockReading) -> Bool {
        Self.nanoseconds(clock).map { note(uptime: $0.uptime, elapsed: $0.elapsed) } ?? false
    }

    /// Nanoseconds to subtract from an uptime, and from others between the same two wakes, to get times since another start,
    /// sleep included.
    ///
    /// - Parameter start: the value before the first wake: the uptime at that other start.
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
