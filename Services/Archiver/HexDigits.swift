extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits per byte.
    var hexDigits: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

extension StringProtocol {
    /// The bytes of hexadecimal digits, capital or not; `nil` where something else is among them.
    var hexBytes: [UInt8]? {
        guard utf8.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var high: Int?
        for character in self {
            guard character.isASCII, let digit = character.hexDigitValue else { return nil }
            if let first = high {
                bytes.append(UInt8(first << 4 | digit))
                high = nil
            } else {
                high = digit
            }
        }
        return bytes
    }
}
