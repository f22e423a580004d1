import Messages

extension ClockReading {
    /// The furthest time from 1970 in nanoseconds, 142 years: differences of two times fit into an `Int64`, also if rounded up.
    private static let furthestTime: Int64 = 4_500_000_000_000_000_000

    /// When the clock showed an uptime in seconds, in nanoseconds since 1970, clamped to 142 years; the reading's own date if the
    /// uptime is impossible.
    func nanosecondsSince1970(atUptime uptime: Double) -> Int64 {
        let distance = (uptime - self.uptime) * 1e9
        let time = date.nanosecondsSince1970.addingClamped(distance.magnitude < 9e18 ? Int64(distance) : 0)
        return min(max(time, -Self.furthestTime), Self.furthestTime)
    }
}
