extension UnsafeRawBufferPointer {
    /// A little-endian integer at an offset, which need not be aligned.
    @inline(__always)
    func integer<Value: FixedWidthInteger>(_ type: Value.Type, at offset: Int) -> Value {
        Value(littleEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
    }
}
