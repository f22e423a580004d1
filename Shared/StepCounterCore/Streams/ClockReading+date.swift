import Messages

extension ClockReading {
    /// The date of an uptime, as far as it can be held.
    func date(atUptime uptime: Double) -> WallTime {
        date.adding(Int64(nanosecondsIn: uptime - self.uptime))
    }
}
