import COpenSSL
import Glibc
import Messages

/// A server certificate of this machine, with its key.
///
/// Sendable, because OpenSSL counts references with locks (X509_up_ref(3)), and reading does not change a parsed certificate.
final class ServerCertificate: @unchecked Sendable {
    /// Validity of a certificate made here, in days; some browsers refuse more.
    private static let days: Int32 = 825

    private let handle: OpaquePointer
    let certificate: String
    let key: String

    /// Parses a certificate and its key, both in PEM.
    /// - Throws: `Fault` with advice.
    init(certificate: String, key: String) throws(Fault) {
        defer { ERR_clear_error() }
        guard let handle = Self.read(certificate, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
            throw Fault(text: "the certificate can't be read: give one in PEM")
        }
        self.handle = handle
        (self.certificate, self.key) = (certificate, key)
        // Without the callback, OpenSSL would ask for a pass phrase on the terminal.
        guard let secret = Self.read(key, { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in 0 }, nil) }) else {
            throw Fault(text: "the private key can't be read: give one in PEM, without a pass phrase")
        }
        defer { EVP_PKEY_free(secret) }
        guard X509_check_private_key(handle, secret) == 1 else {
            throw Fault(text: "the private key is not the certificate's: give the one that it was made with")
        }
    }

    deinit { X509_free(handle) }

    /// An error with advice.
    struct Fault: Error {
        let text: String
    }

    private static func read(_ text: String, _ read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        let bytes = Array(text.utf8)
        guard let source = holdfast_bio_copy(bytes, Int32(clamping: bytes.count)) else { return nil }
        defer { BIO_free(source) }
        return read(source)
    }

    // MARK: Contents

    /// The certificate's SHA-256 fingerprint, as browsers show it: `AB:CD:…`.
    var fingerprint: String {
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard X509_digest(handle, EVP_sha256(), &bytes, &count) == 1 else { return "" }
        return bytes.prefix(Int(count)).map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined(separator: ":")
    }

    /// Whether the certificate is valid for this host name; its names may contain `*`.
    func isFor(_ name: String) -> Bool { X509_check_host(handle, name, name.utf8.count, 0, nil) == 1 }

    func isValid(at date: WallTime) -> Bool {
        var seconds = time_t(date.nanosecondsSince1970 / 1_000_000_000)
        return X509_cmp_time(X509_get0_notBefore(handle), &seconds) < 0
            && X509_cmp_time(X509_get0_notAfter(handle), &seconds) > 0
    }

    // MARK: Making one

    /// Makes a self-signed certificate for names and addresses of this machine.
    /// - Parameter names: in the form of OpenSSL's `subjectAltName`: `DNS:lab`, `IP:127.0.0.1`.
    static func make(for name: String, names: [String], at date: WallTime) throws(Fault) -> ServerCertificate {
        defer { ERR_clear_error() }
        let fault = Fault(text: "OpenSSL could not make a certificate for \(names.joined(separator: ","))")
        guard let key = holdfast_p256_key(), let handle = X509_new() else { throw fault }
        defer {
            EVP_PKEY_free(key)
            X509_free(handle)
        }
        var random = SystemRandomNumberGenerator()
        var seconds = time_t(date.nanosecondsSince1970 / 1_000_000_000)
        // Valid from a day earlier, because other machines' clocks may be behind.
        let (day, earlier): (Int, Int32) = (24 * 3_600, -1)
        let subject = X509_get_subject_name(handle)
        guard X509_set_version(handle, 2) == 1,
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(handle), random.next() >> 1) == 1,
            X509_time_adj_ex(X509_getm_notBefore(handle), earlier, 0, &seconds) != nil,
            X509_time_adj_ex(X509_getm_notAfter(handle), days, -day, &seconds) != nil,
            X509_set_pubkey(handle, key) == 1,
            X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, String(name.prefix(64)), -1, -1, 0) == 1,
            X509_set_issuer_name(handle, subject) == 1
        else { throw fault }
        for (kind, value) in [
            (NID_subject_alt_name, names.joined(separator: ",")), (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"), (NID_ext_key_usage, "serverAuth"),
        ] {
            guard let part = X509V3_EXT_conf_nid(nil, nil, kind, value) else { throw fault }
            defer { X509_EXTENSION_free(part) }
            guard X509_add_ext(handle, part, -1) == 1 else { throw fault }
        }
        guard X509_sign(handle, key, EVP_sha256()) > 0,
            let certificate = text({ PEM_write_bio_X509($0, handle) }),
            let secret = text({ PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) })
        else { throw fault }
        return try ServerCertificate(certificate: certificate, key: secret)
    }

    private static func text(_ write: (OpaquePointer) -> Int32) -> String? {
        guard let memory = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(memory) }
        var bytes: UnsafePointer<CChar>?
        guard write(memory) == 1 else { return nil }
        let count = holdfast_bio_memory(memory, &bytes)
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}
