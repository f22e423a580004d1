struct HTTPResponse: Sendable {
    let status: Int
    let headers: [HTTPHeader]
    /// The received body, unless it was hashed.
    let body: [UInt8]
    /// The size and SHA-256 of a successful response, if the request wanted it hashed.
    let hashed: (bytes: Int, sha256: [UInt8])?
    /// The time after which the server allows another attempt.
    let retryAfter: Duration?

    var isSuccess: Bool { (200..<300).contains(status) }

    var text: String { String(decoding: body, as: UTF8.self) }
}
