import Messages

/// Converts between the seconds of people, files and messages, and the integer nanoseconds used in this program.
package enum Nanoseconds {
    /// The largest accepted distance of a time from zero, in nanoseconds (126 years): the sum of two such times cannot overflow.
    package static let limit: Int64 = 4_000_000_000_000_000_000

    package static let perSecond: Int64 = 1_000_000_000

    /// Times of at least this (March 1973) are in nanoseconds since 1970; no time in seconds is so large.
    private static let firstSince1970 = 1e17

    /// A time in a table or an object, in seconds or in nanoseconds since 1970, rounded to the nearest nanosecond; nil if it is
    /// not a number or beyond `limit`.
    package static func from(time: Double) -> Int64? {
        isSince1970(time) ? from(nanoseconds: time) : from(seconds: time)
    }

    /// Whether a time is in nanoseconds since 1970, rather than in seconds.
    static func isSince1970(_ time: Double) -> Bool { time >= firstSince1970 }

    /// A time as written in a table or an object, in seconds or in nanoseconds since 1970, rounded once: the steps of a `Double`
    /// are 256 ns for nanoseconds since 1970. Nil if it is not a number or beyond `limit`.
    package static func from(text: UnsafeRawBufferPointer) -> Int64? {
        guard let decimal = Decimal(text) else { return DecimalParser.parse(text).flatMap(from(time:)) }
        return decimal.isSince1970 ? decimal.scaled(by: 0) : decimal.scaled(by: 9)
    }

    /// A decimal number without an exponent.
    private struct Decimal {
        private var isNegative = false
        private var digits: Int64 = 0
        /// How many of the digits are after the decimal point.
        private var places = 0

        /// Nil for a number with an exponent or with more digits than an `Int64` holds, and for any other text.
        init?(_ text: UnsafeRawBufferPointer) {
            var rest = text[...]
            if rest.first == UInt8(ascii: "-") {
                isNegative = true
                rest.removeFirst()
            }
            guard !rest.isEmpty, rest.count <= 20, rest.first != UInt8(ascii: "."), rest.last != UInt8(ascii: ".")
            else {
                return nil
            }
            var hasPoint = false
            for byte in rest {
                if byte == UInt8(ascii: "."), !hasPoint {
                    hasPoint = true
                    continue
                }
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                let (product, isTooLarge) = digits.multipliedReportingOverflow(by: 10)
                let (sum, isBeyond) = product.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
                guard !isTooLarge, !isBeyond else { return nil }
                digits = sum
                if hasPoint { places += 1 }
            }
        }

        /// Whether it is in nanoseconds.
        var isSince1970: Bool {
            // With a decimal point it would have too many digits.
            !isNegative && places == 0 && digits >= 100_000_000_000_000_000
        }

        /// The nearest whole number after multiplication by a power of ten; nil beyond `limit`.
        func scaled(by power: Int) -> Int64? {
            var number = digits
            for _ in 0..<max(0, power - places) {
                let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
                if isTooLarge { return nil }
                number = product
            }
            if places > power {
                let divisor = (0..<places - power).reduce(Int64(1)) { product, _ in product * 10 }
                let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
                number = quotient + (remainder >= divisor - remainder ? 1 : 0)
            }
            guard number <= limit else { return nil }
            return isNegative ? -number : number
        }
    }

    /// Rounds seconds to the nearest nanosecond; nil if they are not a number or beyond `limit`.
    package static func from(seconds: Double) -> Int64? {
        from(nanoseconds: seconds * 1e9)
    }

    /// Rounds to the nearest nanosecond; nil if it is not a number or beyond `limit`.
    package static func from(nanoseconds: Double) -> Int64? {
        guard abs(nanoseconds) <= Double(limit) else { return nil }
        return Int64(nanoseconds.rounded())
    }

    /// The seconds for messages: correctly rounded, so that their shortest decimal form has the digits of the nanoseconds.
    package static func seconds(_ nanoseconds: Int64) -> Double {
        Double(nanoseconds) / 1e9
    }
}
