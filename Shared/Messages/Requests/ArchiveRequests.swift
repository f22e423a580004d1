/// Has a finished session archived now, before others, and uploaded where a receiver is configured: `archive.create`.
///
/// It is answered at once, with how far the session is. An archive that is there already is not made anew. A session
/// that is not over is refused as `notOver`.
public struct ArchiveCreate: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "archive.create"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// Where it stands.
    public typealias Reply = ArchiveStatus

    /// The session.
    public var session: String

    /// Asks.
    public init(session: String) { self.session = session }
}

/// Asks where a session stands: `archive.status`.
public struct ArchiveStatusRequest: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "archive.status"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// Where it stands.
    public typealias Reply = ArchiveStatus

    /// The session.
    public var session: String

    /// Asks.
    public init(session: String) { self.session = session }
}

/// Has what failed tried again now: `archive.retry`.
public struct ArchiveRetry: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "archive.retry"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// Where it stands.
    public typealias Reply = ArchiveStatus

    /// The session.
    public var session: String

    /// Asks.
    public init(session: String) { self.session = session }
}

/// Asks where all sessions stand, by name: `archive.list`.
public struct ArchiveList: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "archive.list"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// How many sessions an answer has at most.
    public static let maximumLimit = 1_000

    /// Sessions, by name.
    public struct Reply: Codable, Hashable, Sendable {
        /// The sessions.
        public var archives: [ArchiveStatus]
        /// Whether there are more: ask again with `after` the last one's name.
        public var more: Bool?

        /// An answer.
        public init(archives: [ArchiveStatus], more: Bool? = nil) {
            self.archives = archives
            self.more = more
        }
    }

    /// Only sessions whose names come after this one.
    public var after: String?
    /// At most so many; 1,000 if omitted.
    public var limit: Int?

    /// Asks.
    public init(after: String? = nil, limit: Int? = nil) {
        self.after = after
        self.limit = limit
    }
}
