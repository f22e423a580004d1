import COpenSSL
import Files
import Recording
package import SystemPackage

/// A private key, which decrypts archives encrypted to its certificate.
package final class PrivateKey {
    let handle: OpaquePointer

    /// Reads a PEM key. If the key has a pass phrase, OpenSSL asks for it on the terminal.
    ///
    /// - Throws: `wrongKey` if there is no key.
    package init(_ path: FilePath) throws(ArchiveError) {
        let bytes: [UInt8]
        do {
            bytes = try Directory(path.removingLastComponent()).read(path.lastComponent?.string ?? "")
        } catch {
            throw ArchiveError(error)
        }
        defer { ERR_clear_error() }
        guard let source = holdfast_bio_copy(bytes, Int32(clamping: bytes.count)) else {
            throw ArchiveError(.wrongKey, "Could not use \(path): \(OpenSSLFailure.reason()).")
        }
        defer { BIO_free(source) }
        guard let handle = PEM_read_bio_PrivateKey(source, nil, nil, nil) else {
            throw ArchiveError(
                .wrongKey,
                "Could not use \(path): there is no private key in it that can be read (\(OpenSSLFailure.reason())). Give "
                    + "one in PEM.")
        }
        self.handle = handle
    }

    deinit {
        EVP_PKEY_free(handle)
    }
}
