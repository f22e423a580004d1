import CISAL

/// Checksums that find damage by accident.
package enum Checksum {
    /// CRC-32 as zip has it, of bytes that come after others.
    package static func crc32(_ bytes: UnsafeRawBufferPointer, after checksum: UInt32 = 0) -> UInt32 {
        crc32_gzip_refl(checksum, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    }

    /// CRC-32C without its last step, of bytes that come after others. At most 2 GiB.
    package static func crc32c(_ bytes: UnsafeRawBufferPointer, after checksum: UInt32 = .max) -> UInt32 {
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return checksum }
        // It is only read: the C declaration lacks const.
        return crc32_iscsi(UnsafeMutablePointer(mutating: start), Int32(bytes.count), checksum)
    }
}
