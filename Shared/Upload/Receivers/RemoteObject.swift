import Files
import FoundationEssentials
import Recording

/// What a web server says about a file that it has, in the fields of an answer.
struct RemoteObject: Sendable {
    /// Whether what it says is about our file.
    enum Verdict: Hashable, Sendable {
        /// It is, all of it: how that is known, and the hash as the server said it.
        case same(UploadConfirmation.Proof, checksum: String)
        /// It is not, and why.
        case different(String)
        /// What it says does not tell.
        case undecided
    }

    /// Its length; `nil` if the server did not say that.
    var bytes: Int?
    /// `x-amz-checksum-sha256` of the whole, `Repr-Digest` (RFC 9530) or `Digest` (RFC 3230).
    var sha256: [UInt8]?
    /// `x-amz-checksum-sha256` of parts, and their number.
    var partsSHA256: (hash: [UInt8], count: Int)?
    /// `Content-MD5`.
    var md5: [UInt8]?
    /// The entity tag, which some servers make an MD5 of, and others something else that looks like one.
    var entityTag: String?
    /// The same as it was given, for conditions.
    private(set) var strongTag: String?

    /// A statement about nothing.
    init() {}

    /// What an answer says.
    /// - Parameter isAboutObject: whether the answer's own length is that of the object, as it is for HEAD.
    init(_ response: HTTPResponse, isAboutObject: Bool) {
        let headers = response.headers
        if isAboutObject { bytes = headers["content-length"].flatMap { Int($0) } }
        takeAmazon(headers["x-amz-checksum-sha256"])
        for name in ["repr-digest", "digest"] {
            for entry in headers[name]?.split(separator: ",") ?? [] {
                let parts = entry.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, parts[0].trimmed.lowercased() == "sha-256" else { continue }
                sha256 = Self.decoded(String(parts[1].trimmed.filter { $0 != ":" }), count: 32) ?? sha256
            }
        }
        md5 = headers["content-md5"].flatMap { Self.decoded($0, count: 16) }
        takeEntityTag(headers["etag"])
    }

    /// Takes S3's checksum: Base64, with `-` and their number behind it where it is that of parts.
    mutating func takeAmazon(_ text: String?) {
        guard let parts = text?.split(separator: "-"), let first = parts.first,
            let hash = Self.decoded(String(first), count: 32)
        else { return }
        if parts.count == 1 {
            sha256 = hash
        } else if let count = Int(parts[1]) {
            partsSHA256 = (hash, count)
        }
    }

    /// Takes an entity tag; a weak one says nothing about bytes.
    mutating func takeEntityTag(_ text: String?) {
        guard let text, !text.hasPrefix("W/") else { return }
        strongTag = text
        entityTag = text.filter { $0 != "\"" }.lowercased()
    }

    /// Whether the file that the statement is about is ours.
    /// - Parameter digests: our file's hashes, which may take long to find.
    func verdict(
        on file: UploadFile, digests: () throws(UploadError) -> FileDigests
    ) throws(UploadError) -> Verdict {
        if let bytes, bytes != file.bytes { return .different("it has \(bytes) bytes, and ours \(file.bytes)") }
        if let sha256, sha256 == file.sha256Bytes {
            return .same(.sha256, checksum: Data(sha256).base64EncodedString())
        }
        // Some servers leave out the number of parts that shows what the hash is of.
        let count = partsSHA256?.count ?? entityTag.flatMap { Int($0.split(separator: "-").dropFirst().first ?? "") }
        if let count, let hash = partsSHA256?.hash ?? sha256 {
            let digests = try digests()
            if digests.parts.count == count, digests.partsSHA256 == hash {
                return .same(.partsSHA256, checksum: "\(Data(hash).base64EncodedString())-\(count)")
            }
        } else if let sha256 {
            return .different("its SHA-256 is \(sha256.hexDigits)")
        }
        if let md5 {
            return try digests().md5 == md5
                ? .same(.md5, checksum: md5.hexDigits) : .different("its MD5 is \(md5.hexDigits)")
        }
        if let entityTag, entityTag.utf8.count >= 32, entityTag.prefix(32).hexBytes != nil {
            let digests = try digests()
            if entityTag == digests.md5.hexDigits { return .same(.md5, checksum: entityTag) }
            if entityTag == "\(digests.partsMD5.hexDigits)-\(digests.parts.count)" {
                return .same(.partsMD5, checksum: entityTag)
            }
        }
        return .undecided
    }

    private static func decoded(_ text: String, count: Int) -> [UInt8]? {
        Data(base64Encoded: text).flatMap { $0.count == count ? Array($0) : nil }
    }
}
