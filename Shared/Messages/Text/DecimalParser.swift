import Glibc

/// Parses a number as JSON and tables spell it, to the nearest `Double`.
///
/// A significand of up to 53 bits with a small power of ten is exact after one multiplication or division (William Clinger,
/// "How to read floating point numbers accurately", 1990). Up to 19 digits, of which up to 19 are behind the point, take one
/// division of integers. The C library parses the rest, also rounding correctly. The program must not have called `setlocale`,
/// or the C library may expect a decimal comma.
public enum DecimalParser {
    /// The number that `bytes` spell; nil if they are not a number.
    ///
    /// Accepts more than JSON does, for tables from other programs: a plus sign, leading zeros, a point without digits on one
    /// side, and NaN, Infinity and -Infinity, quoted or not. Blanks are not accepted. Too large a number is an infinity, too
    /// small a one is zero.
    public static func parse(_ bytes: UnsafeRawBufferPointer) -> Double? {
        let end = bytes.count
        var index = 0
        var isNegative = false
        if end > 0, bytes[0] == UInt8(ascii: "-") || bytes[0] == UInt8(ascii: "+") {
            isNegative = bytes[0] == UInt8(ascii: "-")
            index = 1
        }

        var significand: UInt64 = 0
        let integerStart = index
        while index < end, let digit = digit(bytes[index]) {
            significand = significand &* 10 &+ digit
            index += 1
        }
        var digitCount = index - integerStart
        var exponent = 0
        if index < end, bytes[index] == UInt8(ascii: ".") {
            index += 1
            let start = index
            while index < end, let digit = digit(bytes[index]) {
                significand = significand &* 10 &+ digit
                index += 1
            }
            exponent = start - index
            digitCount += index - start
        }
        guard digitCount > 0 else { return nonFinite(bytes) }

        if index < end, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            var isExponentNegative = false
            if index < end, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
                isExponentNegative = bytes[index] == UInt8(ascii: "-")
                index += 1
            }
            guard index < end else { return nil }
            var written = 0
            while index < end, let digit = digit(bytes[index]) {
                // Larger exponents give infinity or zero, which the C library decides.
                if written < 100_000 { written = written * 10 + Int(digit) }
                index += 1
            }
            exponent += isExponentNegative ? -written : written
        }
        guard index == end else { return nil }

        // 19 digits can't overflow the significand; leading zeros among them only select the slow path.
        guard digitCount <= 19 else { return readByTheCLibrary(bytes) }
        if significand <= 1 << 53, exponent.magnitude < powersOfTen.count {
            let power = powersOfTen[Int(exponent.magnitude)]
            let magnitude = exponent < 0 ? Double(significand) / power : Double(significand) * power
            return isNegative ? -magnitude : magnitude
        }
        if exponent <= 0, -exponent < integerPowersOfTen.count, significand > 0 {
            let magnitude = quotient(significand, integerPowersOfTen[-exponent])
            return isNegative ? -magnitude : magnitude
        }
        return readByTheCLibrary(bytes)
    }

    /// The quotient of two positive numbers, rounded to the nearest.
    private static func quotient(_ dividend: UInt64, _ divisor: UInt64) -> Double {
        let (shift, divisorShift) = (dividend.leadingZeroBitCount, divisor.leadingZeroBitCount)
        let high = dividend << shift
        let (quotient, rest) = (divisor << divisorShift).dividingFullWidth((high >> 1, high << 63))
        // A Double takes 53 of the 63 or 64 bits; the last bit is sticky: it is set if the division left a remainder.
        let rounded = Double(quotient | (rest == 0 ? 0 : 1))
        let power = Double(bitPattern: UInt64(1023 + divisorShift - shift - 63) << 52)
        return rounded * power
    }

    /// The powers of ten that fit into a UInt64.
    private static let integerPowersOfTen: [UInt64] = (0...19).map { exponent in
        (0..<exponent).reduce(1) { power, _ in power * 10 }
    }

    @inline(__always)
    private static func digit(_ byte: UInt8) -> UInt64? {
        let digit = byte &- UInt8(ascii: "0")
        return digit < 10 ? UInt64(digit) : nil
    }

    /// The powers of ten that a Double represents exactly.
    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20,
        1e21, 1e22,
    ]

    private static func readByTheCLibrary(_ bytes: UnsafeRawBufferPointer) -> Double {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { text in
            _ = text.update(fromContentsOf: bytes.bindMemory(to: CChar.self))
            text[bytes.count] = 0
            return text.baseAddress.map { strtod($0, nil) } ?? .nan
        }
    }

    /// The value of a word for a non-finite number, quoted or not; nil for any other text.
    static func nonFinite(_ bytes: UnsafeRawBufferPointer) -> Double? {
        var word = bytes[...]
        if word.count >= 2, word.first == UInt8(ascii: "\""), word.last == UInt8(ascii: "\"") {
            word = word.dropFirst().dropLast()
        }
        if word.elementsEqual("NaN".utf8) { return .nan }
        if word.elementsEqual("Infinity".utf8) { return .infinity }
        if word.elementsEqual("-Infinity".utf8) { return -.infinity }
        return nil
    }
}
