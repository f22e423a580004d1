extension [UInt8] {
    /// Appends an integer, low byte first.
    mutating func append<Value: FixedWidthInteger>(little value: Value) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Writes an integer at an offset, low byte first.
    mutating func write<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
        Swift.withUnsafeBytes(of: value.littleEndian) { bytes in
            for (index, byte) in bytes.enumerated() { self[offset + index] = byte }
        }
    }
}
