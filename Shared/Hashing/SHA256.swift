import COpenSSL

/// Incremental SHA-256 (FIPS 180-4) with OpenSSL's libcrypto.
///
/// A value type: copies are independent. Nothing is allocated until `finalize`.
package struct SHA256: Sendable {
    package static let byteCount = 32

    private var state = SHA256_CTX()

    package init() { SHA256_Init(&state) }

    package mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&state, bytes.baseAddress, bytes.count)
    }

    /// The hash of the bytes so far; more may follow.
    package func finalize() -> [UInt8] {
        var state = state
        return Array(unsafeUninitializedCapacity: Self.byteCount) { digest, count in
            SHA256_Final(digest.baseAddress, &state)
            count = Self.byteCount
        }
    }

    package static func hash(data bytes: some Sequence<UInt8>) -> [UInt8] {
        var hash = Self()
        withBytes(of: bytes) { hash.update(bufferPointer: $0) }
        return hash.finalize()
    }

    /// HMAC-SHA-256 (RFC 2104).
    package static func authenticationCode(for bytes: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        Array(unsafeUninitializedCapacity: Self.byteCount) { code, count in
            withBytes(of: bytes) { bytes in
                _ = HMAC(
                    EVP_sha256(), key, Int32(key.count), bytes.assumingMemoryBound(to: UInt8.self).baseAddress,
                    bytes.count, code.baseAddress, nil)
            }
            count = Self.byteCount
        }
    }
}

/// Provides a sequence's bytes, copied if they are not contiguous in memory.
func withBytes(of bytes: some Sequence<UInt8>, _ body: (UnsafeRawBufferPointer) -> Void) {
    if bytes.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) == nil {
        Array(bytes).withUnsafeBytes(body)
    }
}
