/// How far the clock of a device, whose times a publisher turned into its own, was ahead of the publisher's, once.
///
/// Measured by questions and answers: of several trips the shortest counts. Had both ways the same length, the offset would be
/// exact; it is off by `roundTrip / 2` at most. A sample's time on the device's clock was its uptime plus the latest offset.
public struct RemoteClock: Codable, Hashable, Sendable {
    /// Seconds by which the device's clock is ahead of the clock of uptimes.
    public var offset: Double
    /// Seconds between question and answer, without what the device took.
    public var roundTrip: Double
    /// When it was measured, in seconds on the clock of uptimes.
    public var uptime: Double

    /// What was measured.
    public init(offset: Double, roundTrip: Double, uptime: Double) {
        self.offset = offset
        self.roundTrip = roundTrip
        self.uptime = uptime
    }
}
