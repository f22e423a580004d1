/// Archives a finished session now, before others, and uploads it if a receiver is configured: `archive.create`.
///
/// The reply comes at once, with the session's current state. An existing archive is not made again. A session that is not over
/// is refused as `notOver`.
public struct ArchiveCreate: Request, Hashable {
    /// The name on the wire.
    public static let method = "archive.create"
    /// The required role.
    public var neededRole: Role { .command }
    /// The state of the session's archive.
    public typealias Reply = ArchiveStatus

    /// The session's name.
    public var session: String

    /// Creates the request.
    public init(session: String) { self.session = session }
}

/// Asks for the state of a session's archive: `archive.status`.
public struct ArchiveStatusRequest: Request, Hashable {
    /// The name on the wire.
    public static let method = "archive.status"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The state of the session's archive.
    public typealias Reply = ArchiveStatus

    /// The session's name.
    public var session: String

    /// Creates the request.
    public init(session: String) { self.session = session }
}

/// Retries failed steps of archiving a session now: `archive.retry`.
public struct ArchiveRetry: Request, Hashable {
    /// The name on the wire.
    public static let method = "archive.retry"
    /// The required role.
    public var neededRole: Role { .command }
    /// The state of the session's archive.
    public typealias Reply = ArchiveStatus

    /// The session's name.
    public var session: String

    /// Creates the request.
    public init(session: String) { self.session = session }
}

/// Asks for the state of all sessions' archives, by name: `archive.list`.
public struct ArchiveList: Request, Hashable {
    /// The name on the wire.
    public static let method = "archive.list"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The maximum number of sessions in a reply.
    public static let maximumLimit = 1_000

    /// Sessions, by name.
    public struct Reply: Codable, Hashable, Sendable {
        /// The sessions' archives.
        public var archives: [ArchiveStatus]
        /// Whether more sessions follow: repeat the request with `after` set to the last name.
        public var more: Bool?

        /// Creates the reply.
        public init(archives: [ArchiveStatus], more: Bool? = nil) {
            self.archives = archives
            self.more = more
        }
    }

    /// Only sessions whose names come after this one.
    public var after: String?
    /// The maximum number of sessions in the reply; 1,000 if omitted.
    public var limit: Int?

    /// Creates the request.
    public init(after: String? = nil, limit: Int? = nil) {
        self.after = after
        self.limit = limit
    }
}
