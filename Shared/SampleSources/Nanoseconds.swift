import Messages

/// Conversions between the seconds that people, files and the wire have, and the integer nanoseconds that time is counted in here.
package enum Nanoseconds {
    /// The furthest time from zero that is taken, in nanoseconds (126 years): sums of two such times cannot overflow.
    package static let limit: Int64 = 4_000_000_000_000_000_000

    /// Nanoseconds in a second.
    package static let perSecond: Int64 = 1_000_000_000

    /// From here on a time is in nanoseconds since 1970 (in March 1973), as no time in seconds can be.
    private static let firstSince1970 = 1e17

    /// A time as tables and objects have it, in seconds or in nanoseconds since 1970, rounded to the nearest nanosecond; nil if
    /// it is not a number or beyond `limit`.
    package static func from(time: Double) -> Int64? {
        isSince1970(time) ? from(nanoseconds: time) : from(seconds: time)
    }

    /// Whether a time is in nanoseconds since 1970, not in seconds.
    static func isSince1970(_ time: Double) -> Bool { time >= firstSince1970 }

    /// A time as its digits stand in a table or an object, in seconds or in nanoseconds since 1970, rounded once: a `Double` has
    /// steps of 256 ns in nanoseconds since 1970. Nil if it is not a number or beyond `limit`.
    package static func from(text: UnsafeRawBufferPointer) -> Int64? {
        guard let decimal = Decimal(text) else { return DecimalParser.parse(text).flatMap(from(time:)) }
        return decimal.isSince1970 ? decimal.scaled(by: 0) : decimal.scaled(by: 9)
    }

    /// The digits of a number, without an exponent.
    private struct Decimal {
        private var isNegative = false
        private var digits: Int64 = 0
        /// How many of them stand behind the point.
        private var places = 0

        /// Nil for what has an exponent, more digits than a whole number holds, or is no number.
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
            // With a point it would have more digits than there is room for.
            !isNegative && places == 0 && digits >= 100_000_000_000_000_000
        }

        /// The nearest whole number after a multiplication by a power of ten; nil beyond `limit`.
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

    /// The seconds as they go on the wire: correctly rounded, so that their shortest digits are those of the nanoseconds.
    package static func seconds(_ nanoseconds: Int64) -> Double {
        Double(nanoseconds) / 1e9
    }
}
