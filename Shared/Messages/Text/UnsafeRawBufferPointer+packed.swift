extension UnsafeRawBufferPointer {
    /// The number at `index` of a packed matrix: a little-endian Float64 at any alignment. `index` must lie within the bytes.
    @inlinable @inline(__always)
    public func packedNumber(_ index: Int) -> Double {
        Double(bitPattern: UInt64(littleEndian: loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)))
    }
}
