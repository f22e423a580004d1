import COpenSSL

/// Encrypts its input to certificates: CMS AuthEnvelopedData (RFC 5083) with AES-256-GCM, as BER with indefinite lengths, so that
/// memory use is constant. `openssl cms -decrypt -inform DER` decrypts the output.
///
/// Each message has a new content key, so the same input never gives the same archive twice. RSA keys encrypt it by OAEP with
/// SHA-256, EC keys by ephemeral ECDH. Input beyond the limit of a message continues in the next one; messages follow each other
/// directly. Confined to one thread.
package final class EncryptingSink: ByteSink {
    /// The length of all messages but the last, in bytes: GCM's limit for one key and nonce, 2^39 - 256 bits (NIST SP 800-38D,
    /// 5.2.1.1), rounded down to whole pieces.
    package static let messageLimit = 1 << 36 - 64 << 10

    private let recipients: [Certificate]
    private let sink: any ByteSink
    private let limit: Int
    private var message: EncryptingMessage
    /// The number of bytes in the current message.
    private var count = 0

    /// - Parameters:
    ///   - recipients: at least one, all checked.
    ///   - limit: the maximum number of bytes in a message.
    package init(
        to recipients: [Certificate], into sink: any ByteSink, messageLimit limit: Int = messageLimit
    ) throws(ArchiveError) {
        precondition(!recipients.isEmpty, "somebody must be able to open it")
        precondition(limit > 0 && limit <= Self.messageLimit, "a key may encrypt no more")
        self.recipients = recipients
        self.sink = sink
        self.limit = limit
        message = try EncryptingMessage(to: recipients, into: sink)
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        var rest = bytes
        while !rest.isEmpty {
            if count == limit {
                try message.finish()
                message = try EncryptingMessage(to: recipients, into: sink)
                count = 0
            }
            // In small pieces, to limit memory use.
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(min(64 << 10, limit - count)))
            try message.write(piece)
            count += piece.count
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
        }
    }

    package func finish() throws(ArchiveError) {
        try message.finish()
        try sink.finish()
    }
}

/// A message of an encrypted archive.
private final class EncryptingMessage {
    private let sink: any ByteSink
    private let message: OpaquePointer
    /// The output of encrypted bytes.
    private let memory: OpaquePointer
    /// The input of plain bytes; the last element of the chain is `memory`.
    private let chain: OpaquePointer

    init(to recipients: [Certificate], into sink: any ByteSink) throws(ArchiveError) {
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

    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        guard BIO_write(chain, bytes.baseAddress, Int32(bytes.count)) == Int32(bytes.count) else {
            throw Self.failure()
        }
        try pass()
    }

    /// Ends the message; does not close the sink.
    func finish() throws(ArchiveError) {
        guard holdfast_bio_flush(chain) > 0 else { throw Self.failure() }
        try pass()
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
