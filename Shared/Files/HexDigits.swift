extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits per byte.
    package var hexDigits: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension StringProtocol {
    /// The bytes of hexadecimal digits in either case; nil if there is any other character, or an odd number of digits.
    package var hexBytes: [UInt8]? {
        let digits = compactMap { $0.isASCII ? $0.hexDigitValue : nil }
        guard digits.count == utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
