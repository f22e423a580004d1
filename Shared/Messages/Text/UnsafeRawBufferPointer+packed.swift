extension UnsafeRawBufferPointer {
    /// A number of a packed matrix: little-endian Float64 at any alignment. It must lie within.
    @inlinable @inline(__always)
    public func packedNumber(_ index: Int) -> Double {
        Double(bitPattern: UInt64(littleEndian: loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)))
    }
}
