/// One moment, on both clocks of a machine. Code that depends on time receives a moment and reads no clock.
public struct Moment: Hashable, Sendable {
    /// Nanoseconds of the monotonic clock, for timeouts and ages.
    public var monotonic: Int64
    /// Wall time, for values that are stored and published.
    public var date: WallTime
    /// Nanoseconds for which the machine has slept since it booted. The monotonic clock stands still during sleep.
    public var slept: Int64

    /// Nanoseconds since the machine booted, with the time for which it slept.
    package var elapsed: Int64 { monotonic + slept }

    /// Creates a moment from both clocks' readings.
    public init(monotonic: Int64, date: WallTime, slept: Int64 = 0) {
        self.monotonic = monotonic
        self.date = date
        self.slept = slept
    }
}
