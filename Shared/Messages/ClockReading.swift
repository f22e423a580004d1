/// One instant on both of a publisher's clocks: how to turn uptimes into wall time.
public struct ClockReading: Codable, Hashable, Sendable {
    /// Seconds on the publisher's monotonic clock.
    public var uptime: Double
    /// The same instant on its wall clock.
    public var date: WallTime

    /// A reading of both clocks.
    public init(uptime: Double, date: WallTime) {
        self.uptime = uptime
        self.date = date
    }
}
