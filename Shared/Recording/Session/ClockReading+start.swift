package import Messages

extension ClockReading {
    /// The uptime at a session's start, in nanoseconds: subtract it from an uptime to get the time since the start.
    /// - Throws: `outOfRange` if no clock can have this reading.
    package func uptime(at startDate: WallTime) throws(MessageError) -> Int64 {
        let (sinceStart, overflow) = date.nanosecondsSince1970.subtractingReportingOverflow(
            startDate.nanosecondsSince1970)
        guard isPossible, !overflow, sinceStart.magnitude < 1 << 62 else {
            throw MessageError(.outOfRange, "uptime \(uptime) at \(date.utcText) can't be a clock's reading")
        }
        return Int64(nanosecondsIn: uptime) - sinceStart
    }
}
