import COpenSSL

/// Incremental MD5 (RFC 1321): not secure, but compared by some receivers of uploads.
package struct MD5: Sendable {
    package static let byteCount = 16

    private var state = MD5_CTX()

    package init() { MD5_Init(&state) }

    package mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        MD5_Update(&state, bytes.baseAddress, bytes.count)
    }

    /// The hash of the bytes so far; more may follow.
    package func finalize() -> [UInt8] {
        var state = state
        return Array(unsafeUninitializedCapacity: Self.byteCount) { digest, count in
            MD5_Final(digest.baseAddress, &state)
            count = Self.byteCount
        }
    }

    package static func hash(data bytes: some Sequence<UInt8>) -> [UInt8] {
        var hash = Self()
        withBytes(of: bytes) { hash.update(bufferPointer: $0) }
        return hash.finalize()
    }
}
