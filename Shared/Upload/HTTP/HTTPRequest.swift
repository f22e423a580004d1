struct HTTPRequest: Sendable {
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        case file(SourceFile, Range<Int>)

        var count: Int {
            switch self {
            case .none: 0
            case .bytes(let bytes): bytes.count
            case .file(_, let range): range.count
            }
        }
    }

    let method: String
    let address: WebAddress
    var headers: [HTTPHeader] = []
    var body = Body.none
    /// The maximum size of a response that is hashed instead of kept; nil to keep the response.
    var hashedBytes: Int?
}
