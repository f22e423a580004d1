/// One instant on both of a publisher's clocks, to convert uptimes to wall time.
public struct ClockReading: Codable, Hashable, Sendable {
    /// Seconds on the publisher's monotonic clock, which stops while the machine sleeps.
    public var uptime: Double
    /// The same instant on the publisher's wall clock.
    public var date: WallTime
    /// The same instant in seconds on a clock that continues while the machine sleeps: `elapsed - uptime` grows by the time
    /// slept. Only that difference has a meaning. Stream descriptions have it, and batches once the machine has slept since
    /// the publisher started.
    public var elapsed: Double?

    /// Creates a reading.
    public init(uptime: Double, date: WallTime, elapsed: Double? = nil) {
        self.uptime = uptime
        self.date = date
        self.elapsed = elapsed
    }

    /// The bound of a clock's seconds, in either direction: 126 years. Beyond it, nanoseconds and their differences overflow.
    private static let furthest = 4e9

    /// Whether the readings are within the bounds.
    package var isPossible: Bool { uptime.magnitude < Self.furthest && (elapsed ?? 0).magnitude < Self.furthest }

    /// Checks the clocks that a message's sender reports.
    /// - Throws: `outOfRange` if a reading is out of bounds.
    func check() throws(MessageError) {
        guard isPossible else {
            throw MessageError(.outOfRange, "\"clock\" has an uptime of \(uptime) s, which no clock can have")
        }
    }

    /// The reading of the clocks `nanoseconds` later.
    package func later(by nanoseconds: Int64) -> ClockReading {
        let seconds = Double(nanoseconds) / 1e9
        return ClockReading(
            uptime: uptime + seconds, date: date.adding(nanoseconds), elapsed: elapsed.map { $0 + seconds })
    }
}
