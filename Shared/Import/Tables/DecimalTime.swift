/// Reads a decimal number as an integer of smaller units, to the last digit: dates in nanoseconds do not fit into a Double.
enum DecimalTime {
    /// The number times a power of ten, rounded to the nearest integer; nil if the text is not a number, or too large.
    static func scaled(_ text: some Collection<UInt8>, by power: Int) -> Int64? {
        var magnitude: Int64 = 0
        var isNegative = false
        var hasDigits = false
        /// How many further digits count.
        var places: Int?
        var isRounded = false
        var iterator = text.makeIterator()
        var next = iterator.next()
        if next == UInt8(ascii: "-") || next == UInt8(ascii: "+") {
            isNegative = next == UInt8(ascii: "-")
            next = iterator.next()
        }
        while let byte = next {
            next = iterator.next()
            if byte == UInt8(ascii: "."), places == nil {
                places = power
                continue
            }
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            hasDigits = true
            if places == 0 {
                if !isRounded, digit >= 5 {
                    guard magnitude < .max else { return nil }
                    magnitude += 1
                }
                isRounded = true
                continue
            }
            places = places.map { $0 - 1 }
            guard let number = appending(digit, to: magnitude) else { return nil }
            magnitude = number
        }
        guard hasDigits else { return nil }
        for _ in 0..<(places ?? power) {
            guard let number = appending(0, to: magnitude) else { return nil }
            magnitude = number
        }
        return isNegative ? -magnitude : magnitude
    }

    private static func appending(_ digit: UInt8, to number: Int64) -> Int64? {
        let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
        let (sum, carry) = tens.addingReportingOverflow(Int64(digit))
        return overflow || carry ? nil : sum
    }
}
