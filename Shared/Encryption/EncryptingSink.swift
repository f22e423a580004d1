import COpenSSL

/// Encrypts what is written to it for the owners of certificates: CMS AuthEnvelopedData (RFC 5083) with AES-256-GCM, as
/// BER with contents of no given length, so that memory does not grow with them. `openssl cms -decrypt -inform DER`
/// opens it.
///
/// The content key is made anew each time: the same bytes never give the same archive twice. RSA keys get it by OAEP
/// with SHA-256, EC keys by ephemeral ECDH. Confined to one thread.
package final class EncryptingSink: ByteSink {
    /// The most that GCM may encrypt with one key and nonce: 2^39 - 256 bits (NIST SP 800-38D, 5.2.1.1).
    static let limit = 1 << 36 - 32

    private let sink: any ByteSink
    private let message: OpaquePointer
    /// Where the encrypted bytes come out.
    private let memory: OpaquePointer
    /// Where the plain ones go in; the last of the chain is `memory`.
    private let chain: OpaquePointer
    private var count = 0

    /// - Parameter recipients: at least one, each of them checked.
    package init(to recipients: [Certificate], into sink: any ByteSink) throws(ArchiveError) {
        precondition(!recipients.isEmpty, "somebody must be able to open it")
        guard let message = CMS_AuthEnvelopedData_create(EVP_aes_256_gcm()) else { throw Self.failure() }
        do throws(ArchiveError) {
            for recipient in recipients { try Self.add(recipient, to: message) }
            guard CMS_set_detached(message, 0) == 1, let memory = BIO_new(BIO_s_mem()) else { throw Self.failure() }
            guard let chain = BIO_new_CMS(memory, message) else {
                BIO_free(memory)
                throw Self.failure()
            }
            self.memory = memory
            self.chain = chain
        } catch {
            CMS_ContentInfo_free(message)
            throw error
        }
        self.sink = sink
        self.message = message
    }

    deinit {
        BIO_free_all(chain)
        CMS_ContentInfo_free(message)
    }

    private static func add(_ recipient: Certificate, to message: OpaquePointer) throws(ArchiveError) {
        guard let entry = CMS_add1_recipient_cert(message, recipient.handle, UInt32(CMS_KEY_PARAM)) else {
            throw failure("\(recipient.path): ")
        }
        guard EVP_PKEY_get_base_id(X509_get0_pubkey(recipient.handle)) == EVP_PKEY_RSA else { return }
        let key = CMS_RecipientInfo_get0_pkey_ctx(entry)
        guard EVP_PKEY_CTX_set_rsa_padding(key, RSA_PKCS1_OAEP_PADDING) > 0,
            EVP_PKEY_CTX_set_rsa_oaep_md(key, EVP_sha256()) > 0, EVP_PKEY_CTX_set_rsa_mgf1_md(key, EVP_sha256()) > 0
        else { throw failure("\(recipient.path): ") }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        count += bytes.count
        guard count <= Self.limit else {
            throw ArchiveError(
                .invalidParameter,
                "The archive would be larger than 64 GiB, the most that can be encrypted at once. Record shorter "
                    + "sessions. This one is unchanged.")
        }
        // Piece by piece, so that little waits in memory.
        var rest = bytes
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(64 << 10))
            guard BIO_write(chain, piece.baseAddress, Int32(piece.count)) == Int32(piece.count) else {
                throw Self.failure()
            }
            try pass()
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
        }
    }

    package func finish() throws(ArchiveError) {
        guard holdfast_bio_flush(chain) > 0 else { throw Self.failure() }
        try pass()
        try sink.finish()
    }

    private func pass() throws(ArchiveError) {
        var bytes: UnsafePointer<CChar>?
        let count = holdfast_bio_memory(memory, &bytes)
        if count > 0 { try sink.write(UnsafeRawBufferPointer(start: bytes, count: count)) }
        _ = holdfast_bio_reset(memory)
    }

    private static func failure(_ subject: String = "") -> ArchiveError {
        ArchiveError(.inputOutput, "The archive could not be encrypted: \(subject)\(OpenSSLFailure.reason()).")
    }
}
