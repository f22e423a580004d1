import Hashing
import Files
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import Synchronization

/// A bucket of storage that speaks S3.
///
/// Every request is signed with the hash of its body, and every body is sent with `x-amz-checksum-sha256`, so that the
/// receiver refuses bytes that arrive changed. Longer files go in parts, which a later try finds and continues from. What
/// counts is what the receiver says it has: its SHA-256 where it keeps one, its MD5 in the entity tag where not.
struct S3Store: ObjectStore {
    /// How a bucket is named in a URL.
    enum Addressing: String, CaseIterable, Sendable {
        /// `https://host/bucket/key`
        case path
        /// `https://bucket.host/key`
        case virtual
    }

    let bucket: String
    /// Begins every key, without slashes at its ends; may be empty.
    let prefix: String
    let endpoint: WebAddress
    let region: String
    let addressing: Addressing
    let credentials: S3Credentials.Source
    /// Multipart uploads that this program began, by key: not every receiver tells which there are.
    let begun = UploadIdentifiers()

    /// An object is there whole or not at all.
    var keepsFragments: Bool { false }

    func location(of name: String) -> String { "s3://\(bucket)/\(key(of: name))" }

    func request(_ method: String, _ name: String) throws(UploadError) -> HTTPRequest {
        try request(method, key: key(of: name), headers: [HTTPHeader("x-amz-checksum-mode", "ENABLED")], for: name)
    }

    func put(
        _ source: SourceFile, replacing fragment: RemoteObject?, over connection: HTTPConnection,
        _ throttle: UploadThrottle
    ) throws(UploadError) -> RemoteObject? {
        let file = source.archive
        if source.plan.ranges.count > 1 {
            return try S3MultipartUpload(store: self, source: source, connection: connection, throttle: throttle).run()
        }
        let request = try request(
            "PUT", key: key(of: file.name), headers: Self.headers(of: file.sha256Bytes) + Self.objectHeaders,
            body: .file(source, 0..<file.bytes), payload: file.sha256, for: file.name)
        let response = try connection.answer(to: request, throttle, at: location(of: file.name))
        if response.status == 412 { return nil }
        guard response.isSuccess else { throw refusal(response, of: file.name) }
        return RemoteObject(response, isAboutObject: false)
    }

    func refusal(_ response: HTTPResponse, of name: String) -> UploadError {
        UploadError(s3: response, at: location(of: name))
    }

    /// A signed request.
    /// - Parameter payload: the SHA-256 of the body in hexadecimal digits; `nil` if the body is bytes or none.
    func request(
        _ method: String, key: String, query: [(String, String?)] = [], headers: [HTTPHeader] = [],
        body: HTTPRequest.Body = .none, payload: String? = nil, for name: String
    ) throws(UploadError) -> HTTPRequest {
        let keys: S3Credentials
        do throws(InvalidValue) {
            keys = try credentials.credentials()
        } catch {
            throw UploadError(
                .badConfiguration, at: location(of: name), "\(error)",
                advice: "Correct it. The upload will be retried.",
                retry: .later)
        }
        let authority = addressing == .virtual ? "\(bucket).\(endpoint.authority)" : endpoint.authority
        let base = endpoint.path.hasSuffix("/") ? String(endpoint.path.dropLast()) : endpoint.path
        let root = addressing == .virtual ? base : "\(base)/\(bucket)"
        let path = "\(root)/\(PercentEncoding.path(key))"
        let bytes: [UInt8] = if case .bytes(let bytes) = body { bytes } else { [] }
        let hash = payload ?? SHA256.hash(data: bytes).hexDigits
        let signed = SignatureV4(credentials: keys, region: region, date: .now).headers(
            method, authority: authority, path: path, query: query, headers: headers, payload: hash)
        let sent = SignatureV4.sent(query)
        return HTTPRequest(
            method: method,
            address: WebAddress(
                scheme: endpoint.scheme, authority: authority, path: path, query: sent.isEmpty ? nil : Secret(sent)),
            headers: signed, body: body)
    }

    /// The key of a file.
    func key(of name: String) -> String { prefix.isEmpty ? name : "\(prefix)/\(name)" }

    /// What the receiver is to check a body with.
    static func headers(of sha256: [UInt8]) -> [HTTPHeader] {
        [
            HTTPHeader("x-amz-checksum-sha256", Data(sha256).base64EncodedString()),
            HTTPHeader("x-amz-sdk-checksum-algorithm", "SHA256"),
        ]
    }

    /// What a new object gets, and that it must be new.
    static let objectHeaders = [
        HTTPHeader("content-type", "application/octet-stream"), HTTPHeader("if-none-match", "*"),
    ]
}
