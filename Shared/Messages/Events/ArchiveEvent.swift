/// What happened to a session's archive: `archive.v1`.
public struct ArchiveEvent: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "archive.v1"

    /// What kind of thing happened.
    public struct Change: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An archive is on disk, and anybody can open it.
        public static let made = Change(rawValue: "made")
        /// An archive is on disk, and only its recipients can open it.
        public static let encrypted = Change(rawValue: "encrypted")
        /// The receiver has confirmed an archive: `location` says where it is.
        public static let uploaded = Change(rawValue: "uploaded")
        /// The session's log files are marked at log-manager.
        public static let marked = Change(rawValue: "marked")
        /// A local copy was removed, for its upload was confirmed: an archive, or the session's log files.
        public static let removed = Change(rawValue: "removed")
        /// The archive could not be made: `reason` says why. The session is as it was.
        public static let failed = Change(rawValue: "failed")
        /// The archive was not uploaded, or its files were not marked: `reason` says why. It is kept.
        public static let refused = Change(rawValue: "refused")
    }

    /// The schema that the body names.
    public private(set) var schema: String = ArchiveEvent.schema
    /// The program that published it.
    public var source: String
    /// How many events of this topic the source published before.
    public var sequence: Int
    /// The session.
    public var session: String
    /// What happened.
    public var change: Change
    /// When.
    public var date: WallTime
    /// The file, by its path under the data directory.
    public var path: String?
    /// The archive's size; of removed log files, of all.
    public var bytes: Int?
    /// SHA-256 of the archive, in hexadecimal.
    public var sha256: String?
    /// Where the receiver has it.
    public var location: String?
    /// A word for what went wrong: `noSpace`, `unreachable`.
    public var code: String?
    /// What went wrong, and what to do.
    public var reason: String?

    /// Something that happened.
    public init(
        source: String, sequence: Int, session: String, change: Change, date: WallTime, path: String? = nil,
        bytes: Int? = nil, sha256: String? = nil, location: String? = nil, code: String? = nil, reason: String? = nil
    ) {
        self.source = source
        self.sequence = sequence
        self.session = session
        self.change = change
        self.date = date
        self.path = path
        self.bytes = bytes
        self.sha256 = sha256
        self.location = location
        self.code = code
        self.reason = reason
    }

    /// Where it is published.
    public var topic: String { TopicArea.archive + session }
}
