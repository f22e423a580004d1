import Glibc

extension UnsafeRawBufferPointer {
    /// Whether these bytes are the same as others: what `elementsEqual` says byte by byte, at once.
    package func isSame(as bytes: [UInt8]) -> Bool {
        count == bytes.count && hasBytes(bytes, at: 0)
    }

    /// Whether these bytes are the same as others.
    package func isSame(as bytes: UnsafeRawBufferPointer) -> Bool {
        count == bytes.count && hasBytes(bytes)
    }

    /// Whether these bytes continue others from `offset` on.
    @inline(__always)
    func hasBytes(_ bytes: [UInt8], at offset: Int) -> Bool {
        bytes.withUnsafeBytes { hasBytes($0, at: offset) }
    }

    /// The same.
    @inline(__always)
    func hasBytes(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) -> Bool {
        guard bytes.count <= count - offset, let start = baseAddress, let other = bytes.baseAddress else {
            return bytes.isEmpty
        }
        return memcmp(start + offset, other, bytes.count) == 0
    }
}
