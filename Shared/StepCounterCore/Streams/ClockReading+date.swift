import Messages

extension ClockReading {
    /// The date of an uptime, as far as it can be held.
    func date(atUptime uptime: Double) -> WallTime {
        date.adding(WallTime(seconds: uptime - self.uptime).nanosecondsSince1970)
    }
}
