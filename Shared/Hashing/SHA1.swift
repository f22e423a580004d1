import COpenSSL

/// SHA-1, which WebSockets are accepted with. It is no good for anything that somebody may want to forge.
package enum SHA1 {
    package static let byteCount = 20

    /// The digest of all bytes.
    package static func hash(data bytes: some Sequence<UInt8>) -> [UInt8] {
        let all = Array(bytes)
        var digest = [UInt8](repeating: 0, count: byteCount)
        COpenSSL.SHA1(all, all.count, &digest)
        return digest
    }
}
