/// What a client may do. Each role includes those before it.
public enum Role: String, Codable, Comparable, CaseIterable, Hashable, Sendable {
    /// Listen to what is published, and ask what changes nothing.
    case listen
    /// Also ask what changes something.
    case command
    /// Also ask what deletes recordings, or what lets them be deleted.
    case delete

    /// Less is what may do less.
    public static func < (one: Role, other: Role) -> Bool { one.rank < other.rank }

    private var rank: Int {
        switch self {
        case .listen: 0
        case .command: 1
        case .delete: 2
        }
    }
}
