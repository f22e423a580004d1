import Glibc

extension UnsafeRawBufferPointer {
    /// Whether these bytes are the same as others: what `elementsEqual` says byte by byte, at once.
    package func isSame(as bytes: [UInt8]) -> Bool {
        count == bytes.count && hasBytes(bytes, at: 0)
    }

    /// Whether these bytes go on with others from `offset` on.
    @inline(__always)
    func hasBytes(_ bytes: [UInt8], at offset: Int) -> Bool {
        guard bytes.count <= count - offset, let start = baseAddress else { return bytes.isEmpty }
        return bytes.withUnsafeBytes { other in
            other.baseAddress.map { memcmp(start + offset, $0, other.count) == 0 } ?? true
        }
    }
}
