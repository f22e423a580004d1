import Files
import FoundationEssentials
import Recording

/// A web server's description of a stored file, from the header of a response.
struct RemoteObject: Sendable {
    /// Whether the description matches a local file.
    enum Verdict: Hashable, Sendable {
        /// The complete file matches. Contains the kind of proof, and the hash as the server reported it.
        case same(UploadConfirmation.Proof, checksum: String)
        /// The file differs, for this reason.
        case different(String)
        /// The description is not sufficient to decide.
        case undecided
    }

    /// The length in bytes; `nil` if the server did not report it.
    var bytes: Int?
    /// `x-amz-checksum-sha256` of the whole file, `Repr-Digest` (RFC 9530) or `Digest` (RFC 3230).
    var sha256: [UInt8]?
    /// `x-amz-checksum-sha256` of parts, and the number of parts.
    var partsSHA256: (hash: [UInt8], count: Int)?
    /// `Content-MD5`.
    var md5: [UInt8]?
    /// The entity tag. Some servers use an MD5, others a different value that looks like one.
    var entityTag: String?
    /// The entity tag as the server sent it, for conditional requests.
    private(set) var strongTag: String?

    init() {}

    /// Reads the description from a response.
    /// - Parameter isAboutObject: whether the response's content length is that of the object, as for HEAD.
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

    /// Takes S3's checksum in Base64. A checksum of parts is followed by `-` and their number.
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

    /// Takes an entity tag, unless it is weak: a weak tag does not identify the bytes.
    mutating func takeEntityTag(_ text: String?) {
        guard let text, !text.hasPrefix("W/") else { return }
        strongTag = text
        entityTag = text.filter { $0 != "\"" }.lowercased()
    }

    /// Whether the described file is the local file.
    /// - Parameter digests: the local file's hashes, which may take long to compute.
    func verdict(
        on file: UploadFile, digests: () throws(UploadError) -> FileDigests
    ) throws(UploadError) -> Verdict {
        if let bytes, bytes != file.bytes { return .different("it has \(bytes) bytes, and ours \(file.bytes)") }
        if let sha256, sha256 == file.sha256Bytes {
            return .same(.sha256, checksum: Data(sha256).base64EncodedString())
        }
        // Some servers omit the number of parts that shows which kind of hash it is.
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
