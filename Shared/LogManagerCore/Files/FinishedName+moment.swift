import Glibc
package import Messages
package import Recording

extension FinishedName {
    /// When the file was finished: its modification time, clamped to the second of the stamp.
    ///
    /// A time outside of that second means that somebody touched or copied the file, or that the clock was set back and the stamp
    /// stood still. A stamp that is not a date gives 1970, so that the log's next files come after it.
    package func moment(modified: Int64) -> WallTime {
        guard let second = stampSecond else { return WallTime(nanosecondsSince1970: 0) }
        return WallTime(nanosecondsSince1970: min(max(modified, second), second + 999_999_999))
    }

    /// The beginning of the stamp's second, in nanoseconds since 1970; nil if the year is outside of those that `WallTime` holds.
    package var stampSecond: Int64? {
        let number = stampNumber
        var date = tm()
        date.tm_year = Int32(number / 10_000_000_000) - 1900
        date.tm_mon = Int32(number / 100_000_000 % 100) - 1
        date.tm_mday = Int32(number / 1_000_000 % 100)
        date.tm_hour = Int32(number / 10_000 % 100)
        date.tm_min = Int32(number / 100 % 100)
        date.tm_sec = Int32(number % 100)
        let (nanoseconds, overflow) = Int64(timegm(&date)).multipliedReportingOverflow(by: 1_000_000_000)
        // Leaves room for the second itself, and for later times counted up from it.
        return overflow || nanoseconds > .max - 1_000_000_000_000 ? nil : nanoseconds
    }
}
