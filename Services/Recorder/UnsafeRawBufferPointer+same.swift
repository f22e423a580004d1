import Glibc

extension UnsafeRawBufferPointer {
    /// Whether these bytes are the same as others: what `elementsEqual` says byte by byte, at once.
    func isSame(as bytes: [UInt8]) -> Bool {
        guard count == bytes.count, let start = baseAddress else { return count == bytes.count }
        return bytes.withUnsafeBytes { other in
            other.baseAddress.map { memcmp(start, $0, count) == 0 } ?? true
        }
    }
}
