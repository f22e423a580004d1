import Messages

extension ClockReading {
    /// When the clock had an uptime, in seconds, in nanoseconds since 1970; the reading's own date for an uptime that can't be one.
    func nanosecondsSince1970(atUptime uptime: Double) -> Int64 {
        let distance = (uptime - self.uptime) * 1e9
        return date.nanosecondsSince1970.addingClamped(distance.magnitude < 9e18 ? Int64(distance) : 0)
    }
}
