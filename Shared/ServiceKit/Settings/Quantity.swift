/// Parses a decimal number with a unit exactly: `1.5GB` is 1 500 000 000, without rounding.
enum Quantity {
    /// The amount in the smallest unit.
    /// - Parameters:
    ///   - text: digits, optionally a point and more digits, optional spaces, and a unit. No sign, no exponent.
    ///   - units: the size of each unit in the smallest one, by its spelling; `""` for a bare number.
    /// - Returns: nil if the text has another form, or if the amount is not a whole number or does not fit.
    static func parse(_ text: String, units: [String: Int64]) -> Int64? {
        var rest = Substring(text)
        let whole = takeDigits(from: &rest)
        var fraction: Substring = ""
        if rest.first == "." {
            rest.removeFirst()
            fraction = takeDigits(from: &rest)
            guard !fraction.isEmpty else { return nil }
        }
        guard !whole.isEmpty, let unit = units[String(rest.drop { $0 == " " })] else { return nil }
        while fraction.last == "0" { fraction.removeLast() }

        // An Int64 has at most nineteen digits; even if all follow the point, the product fits an Int128.
        guard let digits = Int64(whole + fraction) else { return nil }
        let divisor = fraction.reduce(into: Int128(1)) { divisor, _ in divisor *= 10 }
        let (amount, remainder) = (Int128(digits) * Int128(unit)).quotientAndRemainder(dividingBy: divisor)
        return remainder == 0 ? Int64(exactly: amount) : nil
    }

    private static func takeDigits(from text: inout Substring) -> Substring {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        text.removeFirst(digits.count)
        return digits
    }
}
