import Messages

extension ClockReading {
    /// The date of an uptime, clamped to the range of `WallTime`.
    func date(atUptime uptime: Double) -> WallTime {
        date.adding(Int64(nanosecondsIn: uptime - self.uptime))
    }
}
