import Messages

extension ClockReading {
    /// When the clock showed an uptime in seconds, in nanoseconds since 1970; the reading's own date if the uptime is impossible.
    func nanosecondsSince1970(atUptime uptime: Double) -> Int64 {
        let distance = (uptime - self.uptime) * 1e9
        return date.nanosecondsSince1970.addingClamped(distance.magnitude < 9e18 ? Int64(distance) : 0)
    }
}
