package import Files
package import Messages

/// The form of a table's times.
package enum TimeForm: Hashable, Sendable {
    /// ISO 8601, with a zone of its own or else `zone`, in seconds ahead of UTC; a space may replace the T.
    case date(zone: Int)
    /// A number since 1970 in UTC, in units of 10^−`digits` seconds.
    case unix(digits: Int)
    /// Seconds since a date.
    case seconds(since: WallTime)

    /// Determines the form of a time.
    ///
    /// - Parameters:
    ///   - text: the first time of a table.
    ///   - zone: seconds ahead of UTC, for dates without a zone.
    ///   - start: the origin of times in seconds, if not 1970.
    /// - Throws: `unreadable` if the text is not a time.
    package init(_ text: some Collection<UInt8>, zone: Int, start: WallTime?) throws(RecordingError) {
        if let form = try Self.dated(text, zone: zone) {
            self = form
        } else if let start {
            self = .seconds(since: start)
        } else {
            throw .notImported(
                "its times are seconds, but it has no start date",
                "Give the start with --start, such as 2026-11-21T10:00:00Z.")
        }
    }

    /// Whether times in this form need a start.
    var isSeconds: Bool { if case .seconds = self { true } else { false } }

    /// Years in which numbers since 1970 are taken for dates, in nanoseconds: from 2000 to 2037. A counter, such as the
    /// nanoseconds since a phone was switched on, has the size of a date in other units, and seldom of one in these years: from
    /// 11 to 25 days after that.
    private static let plausible: Range<Int64> = 946_684_800_000_000_000..<2_145_916_800_000_000_000

    /// The form of a time that is a date by itself; nil for seconds since a start.
    private static func dated(_ text: some Collection<UInt8>, zone: Int) throws(RecordingError) -> TimeForm? {
        let date = TimeForm.date(zone: zone)
        if date.nanoseconds(text) != nil { return date }
        guard let seconds = DecimalTime.scaled(text, by: 0) else {
            throw .notImported(
                "its first time, \(quoted(text)), is not a time",
                text.contains(UInt8(ascii: ","))
                    ? "Write numbers with a decimal point."
                    : "Write seconds, nanoseconds since 1970, or dates such as 2026-11-21T10:00:08.01Z; name the time column with --time."
            )
        }
        let form: TimeForm
        switch seconds {
        // From 1973 on, and for seconds up to the year 2286.
        case 100_000_000..<10_000_000_000: form = .unix(digits: 0)
        case 100_000_000_000..<10_000_000_000_000: form = .unix(digits: 3)
        case 100_000_000_000_000..<10_000_000_000_000_000: form = .unix(digits: 6)
        case 100_000_000_000_000_000...: form = .unix(digits: 9)
        default: return nil
        }
        let time = form.any(text)
        guard plausible.contains(time ?? .max) else {
            let day = time.map { "\(WallTime(nanosecondsSince1970: $0).utcText.prefix(10))" } ?? "after 2261"
            throw .notImported(
                "its first time, \(quoted(text)), would be \(day)",
                "If it is a counter, convert it to seconds, fewer than 100 million, and give --start; if it is right, write dates such as 1998-11-21T10:00:08Z."
            )
        }
        return form
    }

    private static func quoted(_ text: some Collection<UInt8>) -> String {
        "\"\(String(decoding: text.prefix(64), as: UTF8.self))\""
    }

    /// The furthest time from 1970 in nanoseconds, 126 years: the double still fits into an `Int64`.
    private static let furthest: Int64 = 4_000_000_000_000_000_000

    /// Nanoseconds since 1970 in UTC, up to 126 years from then; nil if the text is not such a time.
    package func nanoseconds(_ text: some Collection<UInt8>) -> Int64? {
        guard let time = any(text), time.magnitude <= Self.furthest.magnitude else { return nil }
        return time
    }

    private func any(_ text: some Collection<UInt8>) -> Int64? {
        switch self {
        case .unix(let digits): return DecimalTime.scaled(text, by: 9 - digits)
        case .seconds(let start):
            guard let time = DecimalTime.scaled(text, by: 9) else { return nil }
            let (sum, overflow) = time.addingReportingOverflow(start.nanosecondsSince1970)
            return overflow ? nil : sum
        case .date(let zone):
            var text = Array(text.prefix(64))
            guard text.count > 11 else { return nil }
            if text[10] == UInt8(ascii: " ") { text[10] = UInt8(ascii: "T") }
            let whole = String(decoding: text, as: UTF8.self)
            if let date = try? WallTime(iso8601: whole) { return date.nanosecondsSince1970 }
            guard let date = try? WallTime(iso8601: whole + "Z") else { return nil }
            let (time, overflow) = date.nanosecondsSince1970.subtractingReportingOverflow(Int64(zone) * 1_000_000_000)
            return overflow ? nil : time
        }
    }
}
