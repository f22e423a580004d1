/// One instant on both of a publisher's clocks: how to turn uptimes into wall time.
public struct ClockReading: Codable, Hashable, Sendable {
    /// Seconds on the publisher's monotonic clock, which stands still while the machine sleeps.
    public var uptime: Double
    /// The same instant on its wall clock.
    public var date: WallTime
    /// The same instant in seconds on a clock that continues while the machine sleeps: `elapsed - uptime` grows by the time
    /// slept. Only the difference means something. Descriptions of streams have it; batches don't.
    public var elapsed: Double?

    /// A reading of the clocks.
    public init(uptime: Double, date: WallTime, elapsed: Double? = nil) {
        self.uptime = uptime
        self.date = date
        self.elapsed = elapsed
    }

    /// How far the seconds of a clock may be from zero: 126 years. Beyond, nanoseconds and their differences can't be held.
    private static let furthest = 4e9

    /// Whether clocks may say so.
    package var isPossible: Bool { uptime.magnitude < Self.furthest && (elapsed ?? 0).magnitude < Self.furthest }

    /// Checks what a message says of its sender's clocks.
    /// - Throws: `outOfRange` if no clock says so.
    func check() throws(MessageError) {
        guard isPossible else {
            throw MessageError(.outOfRange, "\"clock\" has an uptime of \(uptime) s, which no clock can have")
        }
    }

    /// What the clocks say so many nanoseconds later.
    package func later(by nanoseconds: Int64) -> ClockReading {
        let seconds = Double(nanoseconds) / 1e9
        return ClockReading(
            uptime: uptime + seconds, date: date.adding(nanoseconds), elapsed: elapsed.map { $0 + seconds })
    }
}
