package import Messages

/// Converts between whole nanoseconds and the decimal digits in files.
package enum Nanoseconds {
    /// Parses decimal seconds, rounded to the nearest nanosecond; `nil` if they are not a valid time.
    @inline(__always)
    package static func parse(_ digits: UnsafeRawBufferPointer) -> Int64? {
        var index = 0
        let end = digits.count
        var isNegative = false
        if end > 0, digits[0] == UInt8(ascii: "-") {
            isNegative = true
            index = 1
        }
        var value: Int64 = 0
        let start = index
        while index < end, digits[index] &- UInt8(ascii: "0") < 10 {
            value = value &* 10 &+ Int64(digits[index] &- UInt8(ascii: "0"))
            index += 1
        }
        // Ten digits of seconds could exceed 292 years, the range of Int64.
        guard index > start, index - start <= 9 else { return slow(digits) }
        var decimals = 0
        if index < end, digits[index] == UInt8(ascii: ".") {
            index += 1
            while index < end, decimals < 9, digits[index] &- UInt8(ascii: "0") < 10 {
                value = value &* 10 &+ Int64(digits[index] &- UInt8(ascii: "0"))
                index += 1
                decimals += 1
            }
        }
        guard index == end else { return slow(digits) }
        value &*= powers[9 - decimals]
        return isNegative ? -value : value
    }

    /// Parses more than nine decimals, an exponent, or a word.
    @inline(never)
    private static func slow(_ digits: UnsafeRawBufferPointer) -> Int64? {
        DecimalParser.parse(digits).flatMap(from(seconds:))
    }

    /// Converts seconds, rounded to the nearest nanosecond; `nil` if they are not a valid time.
    static func from(seconds: Double) -> Int64? { Int64(exactly: (seconds * 1e9).rounded()) }

    private static let powers: [Int64] = [
        1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000,
    ]

    /// Appends a time as seconds in decimal digits, exactly: `12.5`, `-0.000000001`.
    package static func append(_ time: Int64, to buffer: inout ByteBuffer) {
        if time < 0 { buffer.append(UInt8(ascii: "-")) }
        let (seconds, rest) = time.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        buffer.append(Int64(seconds))
        guard rest > 0 else { return }
        buffer.append(UInt8(ascii: "."))
        appendDecimals(Int64(rest), to: &buffer)
        var zeros = 0
        var left = rest
        while left % 10 == 0 {
            left /= 10
            zeros += 1
        }
        buffer.truncate(to: buffer.count - zeros)
    }

    /// Appends nanoseconds as nine digits.
    @inline(__always)
    static func appendDecimals(_ nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.withUnsafeMutableTail(reserving: 9) { text in
            var rest = UInt32(truncatingIfNeeded: nanoseconds)
            for place in stride(from: 8, through: 0, by: -1) {
                let quotient = rest / 10
                text[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10)
                rest = quotient
            }
            return 9
        }
    }
}
