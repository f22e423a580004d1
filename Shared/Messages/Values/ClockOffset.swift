/// How far a publisher's wall clock was from the recorder's, once, measured over REQ/REP.
///
/// Of several round trips the shortest counts: whatever held up the others can't be told from an offset (RFC 5905,
/// section 10). Had both ways the same length, the offset would be exact; it is off by `roundTrip / 2` at most.
public struct ClockComparison: Codable, Hashable, Sendable {
    /// The publisher's REP endpoint.
    public var endpoint: String
    /// The recorder's clock, half-way between question and answer.
    public var date: WallTime
    /// The publisher's clocks as it answered.
    public var clock: ClockReading
    /// Seconds between question and answer.
    public var roundTrip: Double

    /// Both clocks, read at what is nearly the same instant.
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

/// How far a publisher's clock was from the recorder's over a session.
public struct ClockOffset: Codable, Hashable, Sendable {
    /// The publisher's REP endpoint.
    public var endpoint: String
    /// Seconds by which the publisher's clock was ahead, at the first comparison.
    public var first: Double
    /// The same at the last comparison.
    public var last: Double
    /// How much each may be wrong, in seconds: half of the longer of the two round trips.
    public var uncertainty: Double
    /// Seconds per second by which the publisher's clock gained on the recorder's; nil if they were compared once.
    public var drift: Double?
    /// How often they were compared.
    public var comparisons: Int

    /// A session's clock offset.
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
