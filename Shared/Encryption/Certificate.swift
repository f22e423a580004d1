import COpenSSL
import Files
import Glibc
package import Messages
import Recording
package import SystemPackage

/// A recipient's certificate. The owner of its private key can open archives encrypted to it.
package final class Certificate: Sendable {
    /// The path from which the certificate was read.
    package let path: FilePath
    /// The certificate's subject, as shown by `openssl x509 -subject`.
    package let subject: String

    // Immutable after reading: OpenSSL's reference counts are thread-safe (X509_up_ref(3)), and reads do not change the object.
    nonisolated(unsafe) let handle: OpaquePointer

    private init(_ handle: OpaquePointer, path: FilePath) {
        self.handle = handle
        self.path = path
        let text = X509_NAME_oneline(X509_get_subject_name(handle), nil, 0)
        subject = text.map { String(cString: $0) } ?? ""
        CRYPTO_free(text, nil, 0)
    }

    deinit {
        X509_free(handle)
    }

    /// Reads the certificates in a PEM or DER file. Each is a recipient.
    ///
    /// - Parameter date: when they must be valid; nil if validity is checked later.
    /// - Throws: `badCertificate` if there is none, or one is unusable for encryption.
    package static func read(_ path: FilePath, at date: WallTime?) throws(ArchiveError) -> [Certificate] {
        let bytes: [UInt8]
        do {
            bytes = try Directory(path.removingLastComponent()).read(path.lastComponent?.string ?? "")
        } catch {
            throw ArchiveError(.badCertificate, "\(error)")
        }
        let certificates = try parse(bytes, from: path)
        guard !certificates.isEmpty else {
            throw ArchiveError(
                .badCertificate,
                "Could not use \(path): there is no certificate in it. Give a certificate in PEM or DER, not a key.")
        }
        for certificate in certificates { try certificate.check(at: date) }
        return certificates
    }

    private static func parse(_ bytes: [UInt8], from path: FilePath) throws(ArchiveError) -> [Certificate] {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let source = holdfast_bio_copy(bytes, Int32(clamping: bytes.count)) else { return [] }
        defer { BIO_free(source) }
        var certificates: [Certificate] = []
        while let handle = PEM_read_bio_X509(source, nil, nil, nil) {
            certificates.append(Certificate(handle, path: path))
        }
        if certificates.isEmpty {
            guard holdfast_bio_reset(source) > 0, let handle = d2i_X509_bio(source, nil) else { return [] }
            return [Certificate(handle, path: path)]
        }
        // Otherwise this recipient, and those after it, could not open the archives. A damaged first line of a certificate is no
        // error for OpenSSL, which takes the certificate for a comment.
        let parts = String(decoding: bytes, as: UTF8.self)
            .split(separator: "END CERTIFICATE-----", omittingEmptySubsequences: false)
        guard holdfast_pem_is_at_end() != 0, parts.count - 1 <= certificates.count else {
            throw ArchiveError(
                .badCertificate,
                "Could not use \(path): one of its certificates can't be read. Replace it with an "
                    + "intact copy, or remove it.")
        }
        return certificates
    }

    /// Rejects a certificate that is not meant for encryption, is not valid at a date, or has an unsuitable key.
    package func check(at date: WallTime?) throws(ArchiveError) {
        if let fault = date.flatMap({ dateFault(at: $0) }) ?? fault {
            throw ArchiveError(.badCertificate, "Could not encrypt to \(path) (\(subject)): \(fault)")
        }
    }

    /// Whether the certificate is a self-signed certificate authority, as `openssl req -x509` creates by default.
    private var isSelfSignedAuthority: Bool {
        let wanted = UInt32(EXFLAG_CA) | UInt32(EXFLAG_SS)
        return X509_get_extension_flags(handle) & wanted == wanted
    }

    /// A hint for the owner of a certificate that is accepted; nil if there is none.
    package var notice: String? {
        guard isSelfSignedAuthority else { return nil }
        return
            "\(path) (\(subject)) is a self-signed certificate authority's (basicConstraints CA:TRUE). Archives are encrypted "
            + "to it. If its key also signs certificates, give another one: make it with -addext basicConstraints=CA:FALSE."
    }

    private func dateFault(at date: WallTime) -> String? {
        var seconds = time_t(date.nanosecondsSince1970 / 1_000_000_000)
        if X509_cmp_time(X509_get0_notBefore(handle), &seconds) >= 0 {
            return "it is not valid before \(Self.text(X509_get0_notBefore(handle))). Check this machine's clock, or "
                + "give another one."
        }
        if X509_cmp_time(X509_get0_notAfter(handle), &seconds) <= 0 {
            return "it expired on \(Self.text(X509_get0_notAfter(handle))). Ask its owner for a new one."
        }
        return nil
    }

    private var fault: String? {
        let flags = X509_get_extension_flags(handle)
        if flags & UInt32(EXFLAG_INVALID) != 0 {
            return "its extensions can't be understood. Ask its owner for another."
        }
        if flags & UInt32(EXFLAG_CA) != 0, !isSelfSignedAuthority {
            return "it is a certificate authority's. Give a certificate that was made to encrypt to (with "
                + "basicConstraints CA:FALSE)."
        }
        let usages = X509_get_extended_key_usage(handle)
        if flags & UInt32(EXFLAG_XKUSAGE) != 0, usages & UInt32(XKU_SMIME | XKU_ANYEKU) == 0 {
            return
                "it is for another purpose (extendedKeyUsage without emailProtection). Give a certificate that was made "
                + "to encrypt to."
        }
        return keyFault
    }

    private var keyFault: String? {
        guard let key = X509_get0_pubkey(handle) else {
            return "its key can't be understood. Ask its owner for another."
        }
        // Without the extension every usage is allowed (RFC 5280, 4.2.1.3); OpenSSL then sets all bits.
        let usage = X509_get_key_usage(handle)
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA:
            if usage & UInt32(KU_KEY_ENCIPHERMENT) == 0 {
                return "its keyUsage has no keyEncipherment. Give a certificate that was made to encrypt to."
            }
            if EVP_PKEY_get_bits(key) < 2048 {
                return "its key has only \(EVP_PKEY_get_bits(key)) bits. Give one with 2048 or more."
            }
        case EVP_PKEY_EC:
            if usage & UInt32(KU_KEY_AGREEMENT) == 0 {
                return "its keyUsage has no keyAgreement. Give a certificate that was made to encrypt to."
            }
        default: return "its key is neither RSA nor EC. Give one of these."
        }
        return nil
    }

    private static func text(_ time: UnsafePointer<ASN1_TIME>?) -> String {
        guard let memory = BIO_new(BIO_s_mem()) else { return "another time" }
        defer { BIO_free(memory) }
        var bytes: UnsafePointer<CChar>?
        guard ASN1_TIME_print(memory, time) == 1 else { return "another time" }
        let count = holdfast_bio_memory(memory, &bytes)
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}
