import Synchronization

/// The powers of ten that `ShortestDecimal` multiplies by, to 128 bits, computed exactly at first use.
///
/// `@unchecked Sendable` because the memory is written before `shared` is published, and never changed or freed afterwards.
struct PowersOfTen: @unchecked Sendable {
    /// 10^e · 2^-r for the r that makes it a number of exactly 128 bits, rounded up.
    struct Power {
        var high: UInt64
        var low: UInt64
    }

    /// The exponents that a Double needs: from -⌊log10(2^971)⌋ to -⌊log10(2^-1074)⌋.
    private static let least = -292
    private static let greatest = 324

    private let table: UnsafeMutablePointer<Power>

    /// 10^`exponent`.
    @inline(__always)
    static subscript(exponent: Int) -> Power {
        // A `static let` alone would cost a call at each access, a tenth of the time of formatting a number.
        let table = UnsafePointer<Power>(bitPattern: address.load(ordering: .acquiring)) ?? publish()
        return table[exponent &- least]
    }

    /// The address of `shared`'s table; 0 before its first use.
    private static let address = Atomic<UInt>(0)
    private static let shared = PowersOfTen()

    @inline(never)
    private static func publish() -> UnsafePointer<Power> {
        address.store(UInt(bitPattern: shared.table), ordering: .releasing)
        return UnsafePointer(shared.table)
    }

    private init() {
        table = .allocate(capacity: Self.greatest - Self.least + 1)
        // Upwards: 10^e as a whole number, with its words in ascending order.
        var number: [UInt64] = [1]
        for exponent in 0...Self.greatest {
            table[exponent - Self.least] = Self.top(of: number, isExact: true)
            number.multiplyByTen()
        }
        // Downwards: ⌊2^1152 / 10^-e⌋. Dividing a floor by ten gives the floor of the whole quotient, so no precision is lost.
        // The last, 2^1152 / 10^292, still has 182 bits.
        number = [UInt64](repeating: 0, count: 18) + [1]
        for exponent in 1 ... -Self.least {
            number.divideByTen()
            table[-exponent - Self.least] = Self.top(of: number, isExact: false)
        }
    }

    /// The top 128 bits of a number, rounded up if lower bits are set or the number is itself rounded down.
    private static func top(of number: [UInt64], isExact: Bool) -> Power {
        let last = number.count - 1
        let shift = UInt64(number[last].leadingZeroBitCount)
        func word(_ index: Int) -> UInt64 { index >= 0 ? number[index] : 0 }
        // Swift's shifts by 64 give 0, which is correct here.
        func shifted(_ index: Int) -> UInt64 { word(index) << shift | word(index - 1) >> (64 - shift) }

        let isRestZero = shifted(last - 2) == 0 && number.dropLast(3).allSatisfy { $0 == 0 }
        let (low, carry) = shifted(last - 1).addingReportingOverflow(isExact && isRestZero ? 0 : 1)
        return Power(high: shifted(last) + (carry ? 1 : 0), low: low)
    }
}

extension [UInt64] {
    /// Multiplies words in ascending order, which have no zero word at the top.
    fileprivate mutating func multiplyByTen() {
        var carry: UInt64 = 0
        for index in indices {
            let (high, low) = self[index].multipliedFullWidth(by: 10)
            let (sum, overflow) = low.addingReportingOverflow(carry)
            self[index] = sum
            carry = high + (overflow ? 1 : 0)
        }
        if carry != 0 { append(carry) }
    }

    fileprivate mutating func divideByTen() {
        var remainder: UInt64 = 0
        for index in indices.reversed() {
            (self[index], remainder) = (10 as UInt64).dividingFullWidth((remainder, self[index]))
        }
        if last == 0 { removeLast() }
    }
}
