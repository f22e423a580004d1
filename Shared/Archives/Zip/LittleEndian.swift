/// Little-endian numbers, as zip requires.
extension Array where Element == UInt8 {
    mutating func appendLittle(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
