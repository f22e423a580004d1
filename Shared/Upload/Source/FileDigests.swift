import Hashing

/// The hashes of a file and its parts, in the forms that receivers report.
struct FileDigests: Hashable, Sendable {
    /// A piece of the file, as sent in a multipart upload.
    struct Part: Hashable, Sendable {
        let range: Range<Int>
        let sha256: [UInt8]
        let md5: [UInt8]
    }

    let sha256: [UInt8]
    let md5: [UInt8]
    /// The parts, in order: one if the file is not split.
    let parts: [Part]

    /// The SHA-256 of the parts' SHA-256: S3's composite checksum.
    var partsSHA256: [UInt8] { SHA256.hash(data: parts.flatMap(\.sha256)) }
    /// The MD5 of the parts' MD5, which S3 uses for entity tags.
    var partsMD5: [UInt8] { MD5.hash(data: parts.flatMap(\.md5)) }
}
