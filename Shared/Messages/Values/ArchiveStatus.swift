/// Where a session stands on its way to a receiver.
public struct ArchiveStatus: Codable, Hashable, Sendable {
    /// A word for where it stands.
    public struct State: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The session continues, or is being finished.
        public static let recording = State(rawValue: "recording")
        /// The session is over, and its archive is still to be made.
        public static let waiting = State(rawValue: "waiting")
        /// Its archive is being made.
        public static let archiving = State(rawValue: "archiving")
        /// Its archive is on disk, and is not being uploaded now, or never.
        public static let archived = State(rawValue: "archived")
        /// Its archive is being uploaded.
        public static let uploading = State(rawValue: "uploading")
        /// The receiver has confirmed its archive; its log files are not marked at log-manager yet.
        public static let uploaded = State(rawValue: "uploaded")
        /// The receiver has confirmed its archive, and log-manager knows that.
        public static let marked = State(rawValue: "marked")
        /// Something went wrong: `reason` says what, and whether it is tried again.
        public static let failed = State(rawValue: "failed")
    }

    /// The session.
    public var session: String
    /// Where it stands.
    public var state: State
    /// Its archive, by its path under the data directory; nil before it is made, and once it was removed.
    public var path: String?
    /// The archive's size; of several archives, of all.
    public var bytes: Int?
    /// SHA-256 of the archive, in hexadecimal; of several archives, of the first.
    public var sha256: String?
    /// What the receiver confirmed: `<session>.receipt.json` without the list of files.
    public var receipt: JSONValue?
    /// What went wrong, and what to do.
    public var reason: String?

    /// A session's state.
    public init(
        session: String, state: State, path: String? = nil, bytes: Int? = nil, sha256: String? = nil,
        receipt: JSONValue? = nil, reason: String? = nil
    ) {
        self.session = session
        self.state = state
        self.path = path
        self.bytes = bytes
        self.sha256 = sha256
        self.receipt = receipt
        self.reason = reason
    }
}
