import Hashing
import Files
import FoundationEssentials
import Glibc
import Messages
import Recording

/// Signs S3 requests: AWS Signature Version 4 in the `Authorization` field, with a signed payload (AWS, "Authenticating Requests:
/// Using the Authorization Header").
struct SignatureV4: Sendable {
    let credentials: S3Credentials
    let region: String
    /// The time of the request. A server rejects a difference of more than 15 minutes.
    let date: WallTime

    private static let algorithm = "AWS4-HMAC-SHA256"
    private static let service = "s3"

    /// The header fields to send: the given ones and those that signing adds.
    /// - Parameters:
    ///   - path: percent-encoded once, as it is sent.
    ///   - query: names and values, not encoded; `nil` for one without a value.
    ///   - payload: the SHA-256 of the body, in hexadecimal digits.
    func headers(
        _ method: String, authority: String, path: String, query: [(String, String?)], headers: [HTTPHeader],
        payload: String
    ) -> [HTTPHeader] {
        let time = Self.stamp(date)
        var headers = headers + [HTTPHeader("x-amz-date", time), HTTPHeader("x-amz-content-sha256", payload)]
        if let token = credentials.token { headers.append(HTTPHeader("x-amz-security-token", token.reveal())) }
        let signed = (headers + [HTTPHeader("host", authority)]).sorted { $0.name < $1.name }
        let names = signed.map(\.name).joined(separator: ";")
        let canonical = [
            method, path, Self.canonical(query), signed.map { "\($0.name):\($0.value)\n" }.joined(), names, payload,
        ].joined(separator: "\n")
        let scope = "\(time.prefix(8))/\(region)/\(Self.service)/aws4_request"
        let text = [Self.algorithm, time, scope, SHA256.hash(data: Data(canonical.utf8)).hexDigits]
            .joined(separator: "\n")
        let signature = SHA256.authenticationCode(
            for: Array(text.utf8), key: signingKey(day: String(time.prefix(8)))
        ).hexDigits
        headers.append(
            HTTPHeader(
                "authorization",
                "\(Self.algorithm) Credential=\(credentials.keyIdentifier.reveal())/\(scope), "
                    + "SignedHeaders=\(names), Signature=\(signature)"))
        return headers
    }

    /// A query as it is sent. A name without a value has no `=`, because some servers would not recognize it.
    static func sent(_ query: [(String, String?)]) -> String {
        query.map { name, value in
            PercentEncoding.component(name) + (value.map { "=\(PercentEncoding.component($0))" } ?? "")
        }.joined(separator: "&")
    }

    private static func canonical(_ query: [(String, String?)]) -> String {
        query.map { (PercentEncoding.component($0), PercentEncoding.component($1 ?? "")) }
            .sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
    }

    private func signingKey(day: String) -> [UInt8] {
        [day, region, Self.service, "aws4_request"].reduce(Array("AWS4\(credentials.key.reveal())".utf8)) { key, part in
            SHA256.authenticationCode(for: Array(part.utf8), key: key)
        }
    }

    /// `20130524T000000Z`
    private static func stamp(_ date: WallTime) -> String {
        date.utcText.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
    }
}
