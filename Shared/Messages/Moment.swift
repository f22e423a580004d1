/// One moment, on both clocks of a machine. What decides by time is given one, and reads no clock itself.
public struct Moment: Hashable, Sendable {
    /// On a clock that nobody sets, in nanoseconds: for waits and ages.
    public var monotonic: Int64
    /// On the clock that people set: for what is stored and published.
    public var date: WallTime

    /// A moment that was read from both clocks.
    public init(monotonic: Int64, date: WallTime) {
        self.monotonic = monotonic
        self.date = date
    }
}
