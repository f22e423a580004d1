extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits per byte.
    package var hexDigits: String {
        let bytes = Array(self)
        let digits = Array("0123456789abcdef".utf8)
        return String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (index, byte) in bytes.enumerated() {
                text[index * 2] = digits[Int(byte >> 4)]
                text[index * 2 + 1] = digits[Int(byte & 15)]
            }
            return bytes.count * 2
        }
    }
}

extension StringProtocol {
    /// The bytes of hexadecimal digits, capital or not; `nil` where something else is among them.
    package var hexBytes: [UInt8]? {
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
