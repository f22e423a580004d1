import Glibc

/// A moment of civil time, to the nanosecond, for people and beside uptimes in messages.
///
/// On the wire it is an ISO 8601 text in UTC with microseconds, `2026-11-21T02:55:01.123456Z`; finer digits are truncated. Any
/// zone and up to nine decimals are read. Covers the years 1678 to 2261.
public struct WallTime: Hashable, Comparable, Sendable, Codable {
    /// Nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public var nanosecondsSince1970: Int64

    /// Creates a moment from nanoseconds since the start of 1970 in UTC.
    public init(nanosecondsSince1970: Int64) {
        self.nanosecondsSince1970 = nanosecondsSince1970
    }

    /// Creates the nearest nanosecond from seconds since the start of 1970 in UTC, clamped to the range of `WallTime`. NaN
    /// becomes 1970.
    public init(seconds: Double) {
        nanosecondsSince1970 = Int64(nanosecondsIn: seconds)
    }

    /// Seconds since the start of 1970 in UTC.
    public var seconds: Double { Double(nanosecondsSince1970) / 1e9 }

    /// Seconds from another moment to this one, clamped to 292 years.
    public func seconds(since start: WallTime) -> Double { Double(distance(from: start)) / 1e9 }

    /// The moment on the system's clock.
    public static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(nanosecondsSince1970: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Which of two moments comes first.
    public static func < (left: WallTime, right: WallTime) -> Bool {
        left.nanosecondsSince1970 < right.nanosecondsSince1970
    }
}

// MARK: - Text

extension WallTime {
    /// ISO 8601 in UTC with microseconds, as on the wire: `2026-11-21T02:55:01.123456Z`.
    public var utcText: String {
        String(unsafeUninitializedCapacity: Self.utcLength) { bytes in
            bytes.baseAddress.map { writeUTC(to: $0) } ?? 0
        }
    }

    /// ISO 8601 with milliseconds in the zone `offset` seconds east of UTC: `2026-11-21T02:55:01.123-02:30`, with `Z` for UTC
    /// itself. Seconds beyond whole minutes of the offset are dropped, because ISO 8601 can't express them.
    public func text(in offset: Int) -> String {
        let minutes = offset / 60
        let capacity = Self.utcLength + 3
        return String(unsafeUninitializedCapacity: capacity) { bytes in
            guard let text = bytes.baseAddress else { return 0 }
            let length = write(to: text, minutesEast: minutes, decimals: 3)
            guard minutes != 0 else {
                text[length] = UInt8(ascii: "Z")
                return length + 1
            }
            text[length] = UInt8(ascii: minutes < 0 ? "-" : "+")
            Self.writeTwoDigits(abs(minutes) / 60 % 100, to: text + length + 1)
            text[length + 3] = UInt8(ascii: ":")
            Self.writeTwoDigits(abs(minutes) % 60, to: text + length + 4)
            return length + 6
        }
    }

    /// ISO 8601 with milliseconds in this computer's time zone.
    public var localText: String {
        var seconds = time_t(nanosecondsSince1970.floorDivided(by: 1_000_000_000).quotient)
        var local = tm()
        localtime_r(&seconds, &local)
        return text(in: local.tm_gmtoff)
    }

    /// The length of `utcText`: all years in range have four digits.
    static let utcLength = 27

    /// Writes `utcText` and returns its length.
    func writeUTC(to text: UnsafeMutablePointer<UInt8>) -> Int {
        let length = write(to: text, minutesEast: 0, decimals: 6)
        text[length] = UInt8(ascii: "Z")
        return length + 1
    }

    /// Writes the date, the time and `decimals` decimals without a zone, and returns the length.
    private func write(to text: UnsafeMutablePointer<UInt8>, minutesEast: Int, decimals: Int) -> Int {
        // The offset is added to whole seconds, which can't overflow.
        let (utcSeconds, nanoseconds) = nanosecondsSince1970.floorDivided(by: 1_000_000_000)
        let (days, second) = (utcSeconds + Int64(minutesEast) * 60).floorDivided(by: 86_400)
        let date = CivilDate(daysSince1970: Int(days))
        let secondOfDay = Int(second)

        Self.writeTwoDigits(date.year / 100, to: text)
        Self.writeTwoDigits(date.year % 100, to: text + 2)
        text[4] = UInt8(ascii: "-")
        Self.writeTwoDigits(date.month, to: text + 5)
        text[7] = UInt8(ascii: "-")
        Self.writeTwoDigits(date.day, to: text + 8)
        text[10] = UInt8(ascii: "T")
        Self.writeTwoDigits(secondOfDay / 3600, to: text + 11)
        text[13] = UInt8(ascii: ":")
        Self.writeTwoDigits(secondOfDay / 60 % 60, to: text + 14)
        text[16] = UInt8(ascii: ":")
        Self.writeTwoDigits(secondOfDay % 60, to: text + 17)
        text[19] = UInt8(ascii: ".")
        var unit: Int64 = 100_000_000
        for place in 20..<(20 + decimals) {
            text[place] = UInt8(ascii: "0") + UInt8(nanoseconds / unit % 10)
            unit /= 10
        }
        return 20 + decimals
    }

    private static func writeTwoDigits(_ number: Int, to text: UnsafeMutablePointer<UInt8>) {
        text[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10)
        text[1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10)
    }

    /// Reads ISO 8601: `2026-11-21T02:55:01`, up to nine decimals, then `Z`, `+01:00`, `+0100` or `+01`.
    ///
    /// Throws `malformed` for any other form, a date that is not in the calendar, or a missing zone; `outOfRange` for a year
    /// outside the range.
    public init(iso8601 text: String) throws(MessageError) {
        switch Array(text.utf8.prefix(64)).withUnsafeBytes({ Self.read($0) }) {
        case nil:
            throw MessageError(
                .malformed,
                "\"\(text.prefix(64))\" is not a date and time with a zone, such as 2026-11-21T02:55:01.123Z")
        case .some(nil): throw MessageError(.outOfRange, "\"\(text)\" is outside of the years 1678 to 2261")
        case .some(let time?): self = time
        }
    }

    /// Reads the same from bytes without allocating. Nil for malformed text or a year outside the range.
    package init?(iso8601 text: UnsafeRawBufferPointer) {
        guard let time = Self.read(text) ?? nil else { return nil }
        self = time
    }

    /// - Returns: nil for malformed text; `.some(nil)` for a year outside the range.
    private static func read(_ text: UnsafeRawBufferPointer) -> WallTime?? {
        var reader = Reader(text: text)
        guard let civil = reader.dateAndTime(), let decimals = reader.decimals(), let offset = reader.offset(),
            reader.isAtEnd
        else { return nil }
        let (whole, overflow) = (civil - offset).multipliedReportingOverflow(by: 1_000_000_000)
        let (nanoseconds, carry) = whole.addingReportingOverflow(decimals)
        return .some(overflow || carry ? nil : WallTime(nanosecondsSince1970: nanoseconds))
    }

    /// Reads the parts of a date from left to right; each method returns nil if its part is not next.
    private struct Reader {
        let text: UnsafeRawBufferPointer
        var index = 0

        init(text: UnsafeRawBufferPointer) {
            self.text = text
        }

        var isAtEnd: Bool { index == text.count }

        mutating func skip(_ byte: Unicode.Scalar) -> Bool {
            guard index < text.count, text[index] == UInt8(ascii: byte) else { return false }
            index += 1
            return true
        }

        mutating func digit() -> Int64? {
            guard index < text.count, text[index] &- UInt8(ascii: "0") < 10 else { return nil }
            index += 1
            return Int64(text[index - 1] - UInt8(ascii: "0"))
        }

        mutating func number(digits: Int, in range: ClosedRange<Int64>) -> Int64? {
            var number: Int64 = 0
            for _ in 0..<digits {
                guard let digit = digit() else { return nil }
                number = number * 10 + digit
            }
            return range.contains(number) ? number : nil
        }

        /// Seconds since 1970, as if in UTC.
        mutating func dateAndTime() -> Int64? {
            guard let year = number(digits: 4, in: 0...9999), skip("-"),
                let month = number(digits: 2, in: 1...12), skip("-"),
                let day = number(digits: 2, in: 1...31), skip("T"),
                let hour = number(digits: 2, in: 0...23), skip(":"),
                let minute = number(digits: 2, in: 0...59), skip(":"),
                // A leap second counts as the first second of the next minute.
                let second = number(digits: 2, in: 0...60)
            else { return nil }
            let date = CivilDate(year: Int(year), month: Int(month), day: Int(day))
            let days = date.daysSince1970
            guard CivilDate(daysSince1970: days) == date else { return nil }
            return Int64(days) * 86_400 + hour * 3600 + minute * 60 + second
        }

        /// Nanoseconds.
        mutating func decimals() -> Int64? {
            guard skip(".") else { return 0 }
            guard var nanoseconds = digit() else { return nil }
            for _ in 1..<9 { nanoseconds = nanoseconds * 10 + (digit() ?? 0) }
            return nanoseconds
        }

        /// Seconds east of UTC.
        mutating func offset() -> Int64? {
            if skip("Z") { return 0 }
            let isWest = skip("-")
            guard isWest || skip("+"), let hours = number(digits: 2, in: 0...23) else { return nil }
            var seconds = hours * 3600
            if !isAtEnd {
                _ = skip(":")
                guard let minutes = number(digits: 2, in: 0...59) else { return nil }
                seconds += minutes * 60
            }
            return isWest ? -seconds : seconds
        }
    }

    /// A day of the Gregorian calendar.
    ///
    /// The arithmetic counts years from March, so that a leap day comes last, in eras of 400 years (Howard Hinnant,
    /// "chrono-Compatible Low-Level Date Algorithms": `days_from_civil` and `civil_from_days`).
    private struct CivilDate: Equatable {
        var year: Int
        var month: Int
        var day: Int

        init(year: Int, month: Int, day: Int) {
            self.year = year
            self.month = month
            self.day = day
        }

        private static let daysPerEra = 146_097
        /// From 0000-03-01 to 1970-01-01.
        private static let daysBefore1970 = 719_468

        var daysSince1970: Int {
            let marchYear = month > 2 ? year : year - 1
            let era = Int64(marchYear).floorDivided(by: 400)
            let yearOfEra = Int(era.remainder)
            let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
            let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            return Int(era.quotient) * Self.daysPerEra + dayOfEra - Self.daysBefore1970
        }

        init(daysSince1970: Int) {
            let era = Int64(daysSince1970 + Self.daysBefore1970).floorDivided(by: Int64(Self.daysPerEra))
            let dayOfEra = Int(era.remainder)
            let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
            let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
            let marchMonth = (5 * dayOfYear + 2) / 153
            day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
            month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
            year = yearOfEra + Int(era.quotient) * 400 + (month > 2 ? 0 : 1)
        }
    }
}

extension Int64 {
    /// Division that rounds down, with a remainder of at least 0.
    package func floorDivided(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

// MARK: - Coding

extension WallTime {
    /// Reads an ISO 8601 text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do {
            try self.init(iso8601: text)
        } catch {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: error.description)
        }
    }

    /// Writes `utcText`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(utcText)
    }
}
