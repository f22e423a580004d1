/// The shortest decimal text that parses to the same `Double`, formatted as `JSONEncoder` formats it.
///
/// The text is Swift's `description` without a trailing ".0": `5`, `-0`, `0.1`, `1e-05`, `9.007199254740994e+15`. Numbers from
/// 0.0001 to 2^53 have no exponent; all others have one of at least two digits.
///
/// The digits come from the Schubfach algorithm (Raffaello Giulietti, "The Schubfach way to render doubles", 2020–2022). One of
/// at most four candidates is right; multiplying by an approximation of a power of ten of at least 126 bits, and rounding to
/// odd, suffices to find it. Here the approximations have 128 bits and are rounded up.
public enum ShortestDecimal {
    /// The room in bytes that `write` needs. The text takes at most 24; the rest is scratch space.
    public static let maximumLength = 40

    /// Writes the text of `value` and returns its length; non-finite numbers become NaN, Infinity and -Infinity.
    ///
    /// - Parameter text: `maximumLength` writable bytes. Those after the returned length are undefined.
    public static func write(_ value: Double, to text: UnsafeMutablePointer<UInt8>) -> Int {
        let bits = value.bitPattern
        let fraction = bits & (1 << 52 - 1)
        let biasedExponent = Int(truncatingIfNeeded: bits >> 52) & 0x7FF

        // Always written, and overwritten if positive: cheaper than a branch, which random signs would make unpredictable.
        text[0] = UInt8(ascii: "-")
        let sign = Int(truncatingIfNeeded: bits >> 63)
        let place = text.advanced(by: sign)

        if biasedExponent == 0x7FF {
            if fraction != 0 { return copy("NaN", to: text) }
            return sign + copy("Infinity", to: place)
        }
        if bits << 1 == 0 {
            place[0] = UInt8(ascii: "0")
            return sign + 1
        }
        let decimal = shortest(fraction: fraction, biasedExponent: biasedExponent)
        return sign &+ layOut(decimal, isWrittenOut: value.magnitude <= 0x1p53, at: UnsafeMutableRawPointer(place))
    }

    private static func copy(_ word: StaticString, to text: UnsafeMutablePointer<UInt8>) -> Int {
        text.update(from: word.utf8Start, count: word.utf8CodeUnitCount)
        return word.utf8CodeUnitCount
    }

    /// A number as `significand` · 10^`exponent`.
    private struct Decimal {
        var significand: UInt64
        var exponent: Int
    }

    // The arithmetic below wraps (`&+`) where it can't overflow: checks would cost a tenth of the time.

    /// Schubfach, with the paper's names: the number is c · 2^q, and the candidates are multiples of 10^k.
    ///
    /// Prefers selections to branches: digits are random, so branches on them would be mispredicted.
    @inline(__always)
    private static func shortest(fraction: UInt64, biasedExponent: Int) -> Decimal {
        // Below a power of two, the neighbour is only half as far away.
        if fraction == 0, biasedExponent > 1 { return shortestOfPowerOf2(biasedExponent: biasedExponent) }

        let isNormal = biasedExponent != 0
        let c = isNormal ? fraction | 1 << 52 : fraction
        let q = (isNormal ? biasedExponent : 1) &- 1075
        let k = floorLog10(q)
        let (middle, lower, upper) = interval(c: c, below: 2, q: q, k: k)

        let s = middle >> 2
        let tens = s / 10
        let lowerTen = 40 &* tens
        let upperTenInside: UInt64 = lowerTen &+ 40 <= upper ? 1 : 0
        let anyTenInside = (lower <= lowerTen ? 1 : 0) | upperTenInside
        // At most one of them is inside, because the interval is narrower than ten units. But it is at least one unit wide, so
        // the multiple of one unit nearest to its middle is inside, without comparing it with the ends.
        let nearest = s &+ (middle & 3 &+ (s & 1) > 2 ? 1 : 0)
        let nearestTen = 10 &* (tens &+ upperTenInside)
        return Decimal(significand: nearest &+ (nearestTen &- nearest) & (0 &- anyTenInside), exponent: k)
    }

    /// The same for a power of two, where the lower half of the interval is half as wide as the upper one.
    @inline(never)
    private static func shortestOfPowerOf2(biasedExponent: Int) -> Decimal {
        let q = biasedExponent - 1075
        let k = floorLog10(q, ofThreeQuarters: true)
        let (middle, lower, upper) = interval(c: 1 << 52, below: 1, q: q, k: k)

        let s = middle >> 2
        let tens = s / 10
        let isLowerTenInside = lower <= 40 * tens
        let isUpperTenInside = 40 * tens + 40 <= upper
        if isLowerTenInside != isUpperTenInside {
            return Decimal(significand: 10 * (isUpperTenInside ? tens + 1 : tens), exponent: k)
        }
        let isLowerInside = lower <= 4 * s
        let isUpperInside = 4 * s + 4 <= upper
        if isLowerInside != isUpperInside {
            return Decimal(significand: isUpperInside ? s + 1 : s, exponent: k)
        }
        let isRoundedUp = middle & 3 + (s & 1) > 2
        return Decimal(significand: isRoundedUp ? s + 1 : s, exponent: k)
    }

    /// The number and the ends of the interval that reads back as it, in quarters of 10^k, rounded to odd.
    @inline(__always)
    private static func interval(
        c: UInt64, below: UInt64, q: Int, k: Int
    ) -> (middle: UInt64, lower: UInt64, upper: UInt64) {
        let h = UInt64(truncatingIfNeeded: q &+ floorLog2OfPowerOf10(0 &- k) &+ 1)
        let power = PowersOfTen[0 &- k]
        let quarters = c << 2
        // The ends belong to the interval if c is even, because ties round to even.
        let odd = c & 1
        return (
            roundedToOdd(power, quarters &<< h),
            roundedToOdd(power, (quarters &- below) &<< h) &+ odd,
            roundedToOdd(power, (quarters &+ 2) &<< h) &- odd
        )
    }

    /// ⌊log10(2^e)⌋, or ⌊log10(3/4 · 2^e)⌋, for every exponent of a Double (paper, section 9.10).
    @inline(__always)
    private static func floorLog10(_ e: Int, ofThreeQuarters: Bool = false) -> Int {
        (e &* 1_262_611 &- (ofThreeQuarters ? 524_031 : 0)) >> 22
    }

    /// ⌊log2(10^e)⌋ for every power of ten used here (paper, section 9.10).
    @inline(__always)
    private static func floorLog2OfPowerOf10(_ e: Int) -> Int {
        (e &* 1_741_647) >> 19
    }

    /// The top 64 bits of the 192-bit product; the lowest bit is set if the discarded bits matter.
    @inline(__always)
    private static func roundedToOdd(_ power: PowersOfTen.Power, _ factor: UInt64) -> UInt64 {
        let carried = power.low.multipliedFullWidth(by: factor).high
        let product = power.high.multipliedFullWidth(by: factor)
        let (low, overflow) = product.low.addingReportingOverflow(carried)
        return (product.high &+ (overflow ? 1 : 0)) | (low > 1 ? 1 : 0)
    }

    /// Writes the digits, with a point, zeros or an exponent as needed.
    @inline(__always)
    private static func layOut(_ decimal: Decimal, isWrittenOut: Bool, at text: UnsafeMutableRawPointer) -> Int {
        // Scales to 17 digits: a normal number has 16 or 17, a subnormal one may have a single digit.
        let missing: UInt64 = decimal.significand < 10_000_000_000_000_000 ? 1 : 0
        var significand = decimal.significand &* (1 &+ 9 &* missing)
        var exponent = decimal.exponent &+ 16 &- Int(truncatingIfNeeded: missing)
        while significand < 10_000_000_000_000_000 {
            significand &*= 10
            exponent &-= 1
        }
        let first = significand / 10_000_000_000_000_000
        let others = significand &- first &* 10_000_000_000_000_000
        let upper = others / 100_000_000
        let upperDigits = eightDigits(upper)
        let lowerDigits = eightDigits(others &- upper &* 100_000_000)
        // Digits lie in memory order, so trailing zeros are leading zero bytes.
        let digitCount =
            lowerDigits != 0 ? 17 &- lowerDigits.leadingZeroBitCount >> 3 : 9 &- upperDigits.leadingZeroBitCount >> 3

        let zero = UInt8(ascii: "0")
        let zeros: UInt64 = 0x3030_3030_3030_3030
        let firstText = UInt8(truncatingIfNeeded: first) &+ zero
        let upperText = upperDigits | zeros
        let lowerText = lowerDigits | zeros

        guard isWrittenOut, exponent >= -4 else {
            text.storeBytes(of: firstText, as: UInt8.self)
            text.storeBytes(of: UInt8(ascii: "."), toByteOffset: 1, as: UInt8.self)
            text.storeBytes(of: upperText.littleEndian, toByteOffset: 2, as: UInt64.self)
            text.storeBytes(of: lowerText.littleEndian, toByteOffset: 10, as: UInt64.self)
            let length = digitCount == 1 ? 1 : digitCount &+ 1
            return length &+ layOutExponent(exponent, at: text + length)
        }

        // One sequence of stores serves both 0.00012 and 12.3: all digits or zeros as if there were no point, then the point,
        // then the digits after it again, one byte further on. (Magnitudes around 1 are as random as signs.)
        let isBelowOne = exponent < 0
        let leadingZeros = isBelowOne ? 0 &- exponent : 0
        let integerExponent = isBelowOne ? 0 : exponent
        let pointPlace = integerExponent &+ 1
        let others128 = UInt128(lowerText) &<< 64 | UInt128(upperText)
        let decimals = others128 &>> UInt128(truncatingIfNeeded: integerExponent &* 8)
        text.storeBytes(of: zero, as: UInt8.self)
        text.storeBytes(of: (isBelowOne ? zeros : upperText).littleEndian, toByteOffset: 1, as: UInt64.self)
        text.storeBytes(of: lowerText.littleEndian, toByteOffset: 9, as: UInt64.self)
        text.storeBytes(of: UInt8(ascii: "."), toByteOffset: pointPlace, as: UInt8.self)
        text.storeBytes(of: decimals.littleEndian, toByteOffset: pointPlace &+ 1 &+ leadingZeros, as: UInt128.self)
        text.storeBytes(of: firstText, toByteOffset: isBelowOne ? leadingZeros &+ 1 : 0, as: UInt8.self)
        return digitCount > exponent &+ 1 ? digitCount &+ 1 &+ leadingZeros : pointPlace
    }

    private static func layOutExponent(_ exponent: Int, at text: UnsafeMutableRawPointer) -> Int {
        let zero = UInt8(ascii: "0")
        let hundreds = UInt8(truncatingIfNeeded: exponent.magnitude / 100)
        let rest = UInt8(truncatingIfNeeded: exponent.magnitude % 100)
        text.storeBytes(of: UInt8(ascii: "e"), as: UInt8.self)
        text.storeBytes(of: exponent < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"), toByteOffset: 1, as: UInt8.self)
        let place = hundreds == 0 ? 2 : 3
        text.storeBytes(of: zero + hundreds, toByteOffset: 2, as: UInt8.self)
        text.storeBytes(of: zero + rest / 10, toByteOffset: place, as: UInt8.self)
        text.storeBytes(of: zero + rest % 10, toByteOffset: place + 1, as: UInt8.self)
        return place + 2
    }

    /// The eight decimal digits of a number below 10^8, one per byte, the first in the lowest byte.
    ///
    /// Divides several lanes of one word at once by 100 and by 10 (by multiplying and shifting, which is exact for such small
    /// numbers).
    @inline(__always)
    private static func eightDigits(_ number: UInt64) -> UInt64 {
        let upper = number / 10_000
        let fours = upper | (number &- upper &* 10_000) << 32
        let hundreds = (fours &* 10_486) >> 20 & 0x0000_007F_0000_007F
        let pairs = hundreds | (fours &- 100 &* hundreds) << 16
        let tens = (pairs &* 103) >> 10 & 0x000F_000F_000F_000F
        return tens | (pairs &- 10 &* tens) << 8
    }
}
