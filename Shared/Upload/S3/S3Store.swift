import Hashing
import Files
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import Synchronization

/// A bucket of S3-compatible storage.
///
/// Every request is signed with the hash of its body, and every body is sent with `x-amz-checksum-sha256`, so that the receiver
/// refuses corrupted bytes. Large files are sent in parts, which a later attempt finds and continues. An upload counts if the
/// receiver reports a matching SHA-256, or a matching MD5 in the entity tag if it stores no SHA-256.
struct S3Store: ObjectStore {
    /// The place of the bucket's name in a URL.
    enum Addressing: String, CaseIterable, Sendable {
        /// `https://host/bucket/key`
        case path
        /// `https://bucket.host/key`
        case virtual
    }

    let bucket: String
    /// The beginning of every key, without slashes at its ends; may be empty.
    let prefix: String
    let endpoint: WebAddress
    let region: String
    let addressing: Addressing
    let credentials: S3Credentials.Source
    /// The multipart uploads begun by this program, by key: some receivers cannot list them.
    let begun = UploadIdentifiers()

    /// Objects are stored completely or not at all.
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

    func key(of name: String) -> String { prefix.isEmpty ? name : "\(prefix)/\(name)" }

    /// The header fields with which the receiver checks a body.
    static func headers(of sha256: [UInt8]) -> [HTTPHeader] {
        [
            HTTPHeader("x-amz-checksum-sha256", Data(sha256).base64EncodedString()),
            HTTPHeader("x-amz-sdk-checksum-algorithm", "SHA256"),
        ]
    }

    /// The header fields of a new object, including the condition that none exists.
    static let objectHeaders = [
        HTTPHeader("content-type", "application/octet-stream"), HTTPHeader("if-none-match", "*"),
    ]
}
