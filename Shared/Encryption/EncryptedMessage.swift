/// The positions of an encrypted archive's parts in its file: CMS AuthEnvelopedData (RFC 5652, RFC 5083), in BER or DER.
///
/// OpenSSL's own reader loads the whole file into memory, and fails above a few gigabytes.
struct EncryptedMessage {
    /// The message without contents, in DER: the recipients, the encryption parameters and the tag.
    let envelope: [UInt8]
    /// The position of the first piece of the contents.
    let firstPiece: Int
    /// The end of the contents.
    let contentEnd: Int
    /// The end of the message, where the next message begins or the file ends.
    let end: Int

    private static let authEnvelopedData: [UInt8] = [
        0x06, 0x0B, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x01, 0x17,
    ]
    /// The limit in bytes, above the size of the keys of a thousand recipients.
    fileprivate static let maximumPartLength = 4 << 20

    /// Reads everything except the contents of the message at a position.
    ///
    /// - Throws: `damaged` if there is no such message.
    init(_ file: ArchiveInput, at place: Int = 0) throws(ArchiveError) {
        var reader = Reader(file: file, place: place)
        try reader.enter(BERElement.sequence)
        guard try reader.part(BERElement.identifier) == Self.authEnvelopedData else { throw reader.fault }
        try reader.enter(BERElement.context0)
        try reader.enter(BERElement.sequence)
        var head = try reader.part(BERElement.integer)
        if try reader.element().tag == BERElement.context0 { head += try reader.part(BERElement.context0) }
        head += try reader.part(BERElement.set)
        try reader.enter(BERElement.sequence)
        var content = try reader.part(BERElement.identifier)
        content += try reader.part(BERElement.sequence)
        firstPiece = reader.place
        try reader.skipContent()
        contentEnd = reader.place
        try reader.leaveEnd()
        var tail: [UInt8] = []
        if try reader.element().tag == BERElement.context1 { tail += try reader.part(BERElement.context1) }
        tail += try reader.part(BERElement.octets)
        // The end markers of values with indefinite length: the enveloped data, its tag, the message.
        for _ in 0..<3 { try reader.leaveEnd() }
        end = reader.place
        let encrypted = BERElement.encoded(
            BERElement.sequence, content + BERElement.encoded(BERElement.primitiveContext0, []))
        envelope = BERElement.encoded(
            BERElement.sequence,
            Self.authEnvelopedData
                + BERElement.encoded(
                    BERElement.context0, BERElement.encoded(BERElement.sequence, head + encrypted + tail)))
    }

    /// Reads the values of a message sequentially.
    struct Reader {
        let file: ArchiveInput
        var place = 0

        init(file: ArchiveInput, place: Int = 0) {
            self.file = file
            self.place = place
        }

        var fault: ArchiveError {
            ArchiveError(
                .damaged,
                "\(file.path) is not an encrypted archive, or not a whole one: the data at byte \(place) is unexpected. Get it "
                    + "again from where it was made.")
        }

        /// The header of the next value.
        func element() throws(ArchiveError) -> BERElement {
            guard let element = BERElement(try file.bytes(at: place, count: BERElement.maximumHeaderLength)) else {
                throw fault
            }
            return element
        }

        /// Moves to the first value inside the next one.
        mutating func enter(_ tag: UInt8) throws(ArchiveError) {
            let element = try element()
            guard element.tag == tag else { throw fault }
            place += element.headerLength
        }

        /// Reads the whole next value, which must be short and have a definite length.
        mutating func part(_ tag: UInt8) throws(ArchiveError) -> [UInt8] {
            let element = try element()
            guard element.tag == tag, let length = element.length, length <= EncryptedMessage.maximumPartLength else {
                throw fault
            }
            let bytes = try file.bytes(at: place, count: element.headerLength + length)
            guard bytes.count == element.headerLength + length else { throw fault }
            place += bytes.count
            return bytes
        }

        /// Moves past the contents.
        mutating func skipContent() throws(ArchiveError) {
            let element = try element()
            guard [BERElement.context0, BERElement.primitiveContext0].contains(element.tag) else { throw fault }
            place += element.headerLength
            if let length = element.length {
                place += length
                return
            }
            while let length = try pieceLength() { place += length }
            place += 2
        }

        /// Moves to the bytes of the contents' next piece.
        /// - Returns: the piece's length in bytes; `nil` at the end, without moving.
        mutating func pieceLength() throws(ArchiveError) -> Int? {
            let element = try element()
            if element.isEnd { return nil }
            guard element.tag == BERElement.octets, let length = element.length else { throw fault }
            place += element.headerLength
            return length
        }

        /// Moves past an end-of-contents marker, if there is one.
        mutating func leaveEnd() throws(ArchiveError) {
            let bytes = try file.bytes(at: place, count: BERElement.maximumHeaderLength)
            if BERElement(bytes)?.isEnd == true { place += 2 }
        }
    }
}
