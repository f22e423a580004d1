import Glibc

extension UnsafeRawBufferPointer {
    /// Whether these bytes equal `bytes`: the result of `elementsEqual`, with one `memcmp`.
    package func isSame(as bytes: [UInt8]) -> Bool {
        count == bytes.count && hasBytes(bytes, at: 0)
    }

    /// Whether these bytes equal `bytes`.
    package func isSame(as bytes: UnsafeRawBufferPointer) -> Bool {
        count == bytes.count && hasBytes(bytes)
    }

    /// Whether `bytes` stand at `offset`.
    @inline(__always)
    func hasBytes(_ bytes: [UInt8], at offset: Int) -> Bool {
        bytes.withUnsafeBytes { hasBytes($0, at: offset) }
    }

    /// Whether `bytes` stand at `offset`.
    @inline(__always)
    func hasBytes(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) -> Bool {
        guard bytes.count <= count - offset, let start = baseAddress, let other = bytes.baseAddress else {
            return bytes.isEmpty
        }
        return memcmp(start + offset, other, bytes.count) == 0
    }
}
