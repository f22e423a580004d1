/// What is asked of a web server.
struct HTTPRequest: Sendable {
    /// What is sent along.
    enum Body: Sendable {
        case none
        /// A small body.
        case bytes([UInt8])
        /// A piece of the archive.
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
    /// Whether what is answered is hashed in place of kept, up to so many bytes.
    var hashedBytes: Int?
}
