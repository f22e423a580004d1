import Messages

extension ClockReading {
    /// The date of an uptime, as far as it can be held.
    func date(atUptime uptime: Double) -> WallTime {
        let since = WallTime(seconds: uptime - self.uptime).nanosecondsSince1970
        return WallTime(nanosecondsSince1970: date.nanosecondsSince1970.addingClamped(since))
    }
}
