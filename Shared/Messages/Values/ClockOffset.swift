/// One comparison of a publisher's wall clock with the recorder's, measured over REQ/REP.
///
/// Of several round trips the shortest counts: a delay of the others can't be distinguished from an offset (RFC 5905, section
/// 10). If both directions took equally long, the offset is exact; otherwise it is off by at most `roundTrip / 2`.
public struct ClockComparison: Codable, Hashable, Sendable {
    /// The publisher's REP endpoint.
    public var endpoint: String
    /// The recorder's clock, half-way between request and reply.
    public var date: WallTime
    /// The publisher's clocks in its reply.
    public var clock: ClockReading
    /// Seconds between request and reply.
    public var roundTrip: Double

    /// Creates a comparison of two clocks, read at nearly the same instant.
    public init(endpoint: String, date: WallTime, clock: ClockReading, roundTrip: Double) {
        self.endpoint = endpoint
        self.date = date
        self.clock = clock
        self.roundTrip = roundTrip
    }

    /// Seconds by which the publisher's wall clock is ahead of the recorder's.
    public var offset: Double {
        clock.date.seconds(since: date)
    }
}

/// The offset of a publisher's clock from the recorder's over a session.
public struct ClockOffset: Codable, Hashable, Sendable {
    /// The publisher's REP endpoint.
    public var endpoint: String
    /// Seconds by which the publisher's clock was ahead, at the first comparison.
    public var first: Double
    /// The same, at the last comparison.
    public var last: Double
    /// The maximum error of each, in seconds: half of the longer of the two round trips.
    public var uncertainty: Double
    /// Seconds per second by which the publisher's clock gained on the recorder's; nil after a single comparison.
    public var drift: Double?
    /// The number of comparisons.
    public var comparisons: Int

    /// Creates a session's clock offset.
    public init(
        endpoint: String, first: Double, last: Double, uncertainty: Double, drift: Double?, comparisons: Int
    ) {
        self.endpoint = endpoint
        self.first = first
        self.last = last
        self.uncertainty = uncertainty
        self.drift = drift
        self.comparisons = comparisons
    }
}
