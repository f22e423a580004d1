package import Messages

extension ClockReading {
    /// What the uptime was at a session's start, in nanoseconds: to be subtracted from an uptime to get the time since then.
    /// - Throws: `outOfRange` if no clock says so.
    package func uptime(at startDate: WallTime) throws(MessageError) -> Int64 {
        let (sinceStart, overflow) = date.nanosecondsSince1970.subtractingReportingOverflow(
            startDate.nanosecondsSince1970)
        guard isPossible, !overflow, sinceStart.magnitude < 1 << 62 else {
            throw MessageError(.outOfRange, "uptime \(uptime) at \(date.utcText) can't be a clock's reading")
        }
        return Int64(nanosecondsIn: uptime) - sinceStart
    }
}
