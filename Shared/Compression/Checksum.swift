import CISAL

/// Checksums that detect accidental damage.
package enum Checksum {
    /// CRC-32 as used by zip, continuing from `checksum`.
    package static func crc32(_ bytes: UnsafeRawBufferPointer, after checksum: UInt32 = 0) -> UInt32 {
        crc32_gzip_refl(checksum, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    }

    /// CRC-32C without its final inversion, continuing from `checksum`. At most 2 GiB.
    package static func crc32c(_ bytes: UnsafeRawBufferPointer, after checksum: UInt32 = .max) -> UInt32 {
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return checksum }
        // The C declaration lacks const, but the bytes are only read.
        return crc32_iscsi(UnsafeMutablePointer(mutating: start), Int32(bytes.count), checksum)
    }
}
