/// What clients must show, and whose each is.
struct WebTokens: Sendable {
    private let all: [(user: String, token: String)]

    /// - Parameter tokens: by user.
    init(_ tokens: [String: String]) {
        all = tokens.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    var isEmpty: Bool { all.isEmpty }

    /// Whose token it is; nil for nobody's. Compares with all, so that its time tells nothing.
    func user(of shown: String) -> String? {
        all.reduce(nil) { Self.isSame(shown, $1.token) ? $1.user : $0 }
    }

    /// Takes as long wherever two texts differ, so that its time does not tell where.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
