import COpenSSL

/// The decrypted bytes of an encrypted archive, in memory of constant size.
///
/// Do not trust any bytes before the end was reached without an error: the authentication tag is checked only there.
package final class DecryptedArchiveBytes: ArchiveBytes {
    private static let pieceSize = 64 << 10

    private let file: ArchiveInput
    private let length: Int
    private let key: PrivateKey
    private var message: DecryptingMessage
    private let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
    private var isOver = false

    package init(_ file: ArchiveInput, key: PrivateKey) throws(ArchiveError) {
        self.file = file
        self.key = key
        length = try file.length()
        message = try DecryptingMessage(file, at: 0, key: key)
    }

    deinit { plain.deallocate() }

    package func next() throws(ArchiveError) -> UnsafeRawBufferPointer {
        while !isOver {
            let count = try message.read(into: plain)
            if count > 0 { return UnsafeRawBufferPointer(rebasing: plain[..<count]) }
            if message.end < length {
                message = try DecryptingMessage(file, at: message.end, key: key)
            } else {
                isOver = true
            }
        }
        return UnsafeRawBufferPointer(start: nil, count: 0)
    }
}

/// The decrypted content of one message of an encrypted archive.
private final class DecryptingMessage {
    private static let pieceSize = 64 << 10

    private let file: ArchiveInput
    private var reader: EncryptedMessage.Reader
    private let contentEnd: Int
    /// The end of the message in its file.
    let end: Int
    /// The end of the current piece of the contents.
    private var pieceEnd: Int
    private let message: OpaquePointer
    /// The input of encrypted bytes.
    private let memory: OpaquePointer
    /// The output of decrypted bytes.
    private let chain: OpaquePointer
    private let cipher = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)

    init(_ file: ArchiveInput, at place: Int, key: PrivateKey) throws(ArchiveError) {
        let parts = try EncryptedMessage(file, at: place)
        self.file = file
        reader = EncryptedMessage.Reader(file: file, place: parts.firstPiece)
        contentEnd = parts.contentEnd
        end = parts.end
        let element = try reader.element()
        try reader.enter(element.tag)
        pieceEnd = reader.place + (element.length ?? 0)
        defer { ERR_clear_error() }
        guard let source = holdfast_bio_copy(parts.envelope, Int32(clamping: parts.envelope.count)) else {
            throw reader.fault
        }
        defer { BIO_free(source) }
        guard let message = d2i_CMS_bio(source, nil) else { throw reader.fault }
        guard CMS_decrypt_set1_pkey(message, key.handle, nil) == 1, let memory = BIO_new(BIO_s_mem()) else {
            CMS_ContentInfo_free(message)
            throw Self.wrongKey(file)
        }
        holdfast_bio_set_end(memory, -1)
        guard let chain = CMS_dataInit(message, memory) else {
            BIO_free(memory)
            CMS_ContentInfo_free(message)
            throw Self.wrongKey(file)
        }
        self.message = message
        self.memory = memory
        self.chain = chain
    }

    deinit {
        BIO_free_all(chain)
        CMS_ContentInfo_free(message)
        cipher.deallocate()
    }

    /// Reads the next decrypted bytes.
    /// - Returns: the number of bytes; 0 at the end, when the message has been authenticated.
    func read(into plain: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int {
        while true {
            let count = BIO_read(chain, plain.baseAddress, Int32(plain.count))
            if count > 0 { return Int(count) }
            if holdfast_bio_should_retry(chain) != 0 {
                try feed()
            } else {
                guard holdfast_bio_cipher_is_ok(chain) != 0 else { throw Self.wrongKey(file) }
                return 0
            }
        }
    }

    /// Provides the next encrypted bytes.
    private func feed() throws(ArchiveError) {
        while reader.place == pieceEnd, pieceEnd < contentEnd, let length = try reader.pieceLength() {
            pieceEnd = reader.place + length
        }
        let wanted = min(cipher.count, pieceEnd - reader.place)
        if wanted == 0 {
            holdfast_bio_set_end(memory, 0)
            return
        }
        let count = try file.read(at: reader.place, into: UnsafeMutableRawBufferPointer(rebasing: cipher[..<wanted]))
        guard count == wanted else { throw reader.fault }
        reader.place += count
        guard BIO_write(memory, cipher.baseAddress, Int32(count)) == Int32(count) else { throw reader.fault }
    }

    private static func wrongKey(_ file: ArchiveInput) -> ArchiveError {
        ERR_clear_error()
        return ArchiveError(
            .wrongKey,
            "\(file.path) was not opened: the key is not one of its recipients', or the file was changed. "
                + "Do not trust anything in it.")
    }
}
