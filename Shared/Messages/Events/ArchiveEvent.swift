/// A change to a session's archive: `archive.v1`.
public struct ArchiveEvent: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "archive.v1"

    /// The kind of change.
    public struct Change: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The archive is on disk, unencrypted.
        public static let made = Change(rawValue: "made")
        /// The archive is on disk, and only its recipients can open it.
        public static let encrypted = Change(rawValue: "encrypted")
        /// The receiver confirmed the archive; `location` is its place there.
        public static let uploaded = Change(rawValue: "uploaded")
        /// The session's stream files are marked as uploaded at log-manager.
        public static let marked = Change(rawValue: "marked")
        /// A local copy was removed after its upload was confirmed: an archive, or the session's stream files.
        public static let removed = Change(rawValue: "removed")
        /// The archive could not be made; `reason` has the error. The session is unchanged.
        public static let failed = Change(rawValue: "failed")
        /// The archive was not uploaded, or its files were not marked; `reason` has the error. The archive is kept.
        public static let refused = Change(rawValue: "refused")
    }

    /// The schema that the body names.
    public private(set) var schema: String = ArchiveEvent.schema
    /// The publishing program's name.
    public var source: String
    /// The number of earlier events on this topic.
    public var sequence: Int
    /// The session's name.
    public var session: String
    /// The kind of change.
    public var change: Change
    /// When the change happened.
    public var date: WallTime
    /// The file's path under the data directory.
    public var path: String?
    /// The archive's size; for removed stream files, their total size.
    public var bytes: Int?
    /// SHA-256 of the archive, in hexadecimal.
    public var sha256: String?
    /// The archive's place at the receiver.
    public var location: String?
    /// A word for the error: `noSpace`, `unreachable`.
    public var code: String?
    /// The error, and what to do.
    public var reason: String?

    /// Creates an event.
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

    /// `archive/<session>`.
    public var topic: String { TopicArea.archive + session }
}
