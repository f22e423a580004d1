/// One comparison of a device's clock with that of the publisher, which converts the device's times to its own.
///
/// It is measured with requests and replies; of several round trips the shortest counts. If both directions took equally long,
/// the offset is exact; otherwise it is off by at most `roundTrip / 2`. A sample's time on the device's clock is its uptime
/// plus the latest offset.
public struct RemoteClock: Codable, Hashable, Sendable {
    /// Seconds by which the device's clock is ahead of the clock of uptimes.
    public var offset: Double
    /// Seconds between request and reply, without the device's processing time.
    public var roundTrip: Double
    /// When it was measured, in seconds on the clock of uptimes.
    public var uptime: Double

    /// Creates a comparison.
    public init(offset: Double, roundTrip: Double, uptime: Double) {
        self.offset = offset
        self.roundTrip = roundTrip
        self.uptime = uptime
    }
}
