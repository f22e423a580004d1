/// Numbers as zip has them: the least byte first.
extension Array where Element == UInt8 {
    mutating func appendLittle(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
