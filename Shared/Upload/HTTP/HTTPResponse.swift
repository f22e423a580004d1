/// What a web server answered.
struct HTTPResponse: Sendable {
    let status: Int
    let headers: [HTTPHeader]
    /// What came, unless it was hashed.
    let body: [UInt8]
    /// How many bytes came and their SHA-256, where the request wanted it hashed and the answer was a success.
    let hashed: (bytes: Int, sha256: [UInt8])?
    /// How long the server asked us to stay away.
    let retryAfter: Duration?

    /// Whether it is one of success.
    var isSuccess: Bool { (200..<300).contains(status) }

    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }
}
