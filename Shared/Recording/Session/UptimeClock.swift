package import Messages

/// Turns a publisher's uptimes into times that continue while its machine sleeps.
///
/// An uptime stands still in sleep, so two samples a second apart may really be hours apart. This value holds readings of both
/// clocks: the earliest one known of each time between two sleeps. A time counts from the last reading that is not after it, and
/// a time before the first reading counts from the first. All times are nanoseconds. It reads no clock: publishers' descriptions
/// have the readings, and batches after a sleep. They come in any order, because missing samples are replayed.
package struct UptimeClock: Codable, Hashable, Sendable {
    private struct Reading: Codable, Hashable, Sendable {
        var uptime: Int64
        var elapsed: Int64

        /// The difference between the clocks. If a stranger's clocks make no sense, it wraps around instead of trapping.
        var difference: Int64 { elapsed &- uptime }

        /// Nanoseconds of sleep after another reading.
        func slept(since other: Reading) -> Int64 { difference.subtractingClamped(other.difference) }

        mutating func move(to uptime: Int64) { self = Reading(uptime: uptime, elapsed: uptime &+ difference) }
    }

    /// By how much the difference must grow to count as a sleep: readings are not exact.
    private static let shortestSleep: Int64 = 1_000_000
    /// Most readings that are remembered, so that a stranger can't fill the memory: one day of a machine that sleeps every
    /// minute. The oldest are forgotten first.
    private static let maximumWakes = 1_440

    /// The one that other times relate to; samples from before a sleep may come later. Only its difference matters, unless it is
    /// the earliest one.
    private var start: Reading
    /// In order of their uptimes and of their differences. Empty until a sleep is known.
    private var wakes: [Reading] = []

    private var first: Reading { wakes.first.map { $0.uptime < start.uptime ? $0 : start } ?? start }

    /// Whether the machine is known to have slept.
    package var hasSlept: Bool { !wakes.isEmpty }

    package init(uptime: Int64, elapsed: Int64) {
        start = Reading(uptime: uptime, elapsed: elapsed)
    }

    /// Begins with the clock in a publisher's description; nil if the clock does not continue in sleep or is not possible.
    package init?(_ clock: ClockReading) {
        guard let (uptime, elapsed) = Self.nanoseconds(clock) else { return nil }
        self.init(uptime: uptime, elapsed: elapsed)
    }

    /// Takes another reading of the clocks.
    /// - Returns: whether it has news: a sleep, or an earlier time between the same sleeps.
    @discardableResult
    package mutating func note(uptime: Int64, elapsed: Int64) -> Bool {
        let reading = Reading(uptime: uptime, elapsed: elapsed)
        var readings = wakes.isEmpty ? [start] : wakes
        let index = readings.lastIndex { reading.slept(since: $0) > Self.shortestSleep }.map { $0 + 1 } ?? 0
        guard index == 0 || readings[index - 1].uptime <= uptime else { return false }
        if index == readings.count {
            readings.append(reading)
        } else if uptime >= readings[index].uptime {
            return false
        } else if readings[index].slept(since: reading) > Self.shortestSleep {
            readings.insert(reading, at: index)
        } else {
            readings[index].move(to: uptime)
        }
        if wakes.isEmpty, readings.count == 1 {
            start = readings[0]
        } else {
            if readings.count > Self.maximumWakes { readings.removeFirst() }
            wakes = readings
        }
        return true
    }

    /// Takes another reading from a publisher's description.
    @discardableResult
    package mutating func note(_ clock: ClockReading) -> Bool {
        Self.nanoseconds(clock).map { note(uptime: $0.uptime, elapsed: $0.elapsed) } ?? false
    }

    /// Nanoseconds to subtract from an uptime, and from others between the same two wakes, to get times since another start,
    /// sleep included.
    ///
    /// - Parameter start: the value at the reading that this clock began with: the uptime at that other start, if the machine
    ///   did not sleep in between.
    package func origin(at uptime: Int64, start: Int64) -> Int64 {
        // Nearly all times are after the last wake.
        let reading = wakes.last { $0.uptime <= uptime } ?? first
        return start &- (reading.difference &- self.start.difference)
    }

    private static func nanoseconds(_ clock: ClockReading) -> (uptime: Int64, elapsed: Int64)? {
        guard let elapsed = clock.elapsed, clock.isPossible else { return nil }
        return (Int64(nanosecondsIn: clock.uptime), Int64(nanosecondsIn: elapsed))
    }
}
