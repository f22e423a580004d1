/// The tokens that clients must present, by user.
struct WebTokens: Sendable {
    private let all: [(user: String, token: String)]

    /// - Parameter tokens: by user.
    init(_ tokens: [String: String]) {
        all = tokens.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    var isEmpty: Bool { all.isEmpty }

    /// The user of a token; nil if the token is unknown. Compares with all tokens, so that timing reveals nothing.
    func user(of shown: String) -> String? {
        all.reduce(nil) { Self.isSame(shown, $1.token) ? $1.user : $0 }
    }

    /// Compares in constant time for texts of one length, so that timing does not reveal where they differ.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
