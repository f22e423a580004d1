/// One moment, on both clocks of a machine. Code that decides by time receives one and reads no clock.
public struct Moment: Hashable, Sendable {
    /// Nanoseconds of the monotonic clock: for waits and ages.
    public var monotonic: Int64
    /// The wall clock's time: for what is stored and published.
    public var date: WallTime

    /// A moment that was read from both clocks.
    public init(monotonic: Int64, date: WallTime) {
        self.monotonic = monotonic
        self.date = date
    }
}
