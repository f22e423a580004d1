/// Bytes as hexadecimal digits.
package enum HexText {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Two lower-case digits per byte.
    package static func lowercase(_ bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        return String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (index, byte) in bytes.enumerated() {
                text[index * 2] = digits[Int(byte >> 4)]
                text[index * 2 + 1] = digits[Int(byte & 15)]
            }
            return bytes.count * 2
        }
    }
}
