/// What a client may do. Each role includes those before it.
public enum Role: String, Codable, Comparable, CaseIterable, Hashable, Sendable {
    /// Listen to events, and send requests that change nothing.
    case listen
    /// Also send requests that change something.
    case command
    /// Also send requests that delete recordings, or allow their deletion.
    case delete

    /// Orders roles by what they may do.
    public static func < (one: Role, other: Role) -> Bool { one.rank < other.rank }

    private var rank: Int {
        switch self {
        case .listen: 0
        case .command: 1
        case .delete: 2
        }
    }
}
