/// The state of a session's archive on its way to a receiver.
public struct ArchiveStatus: Codable, Hashable, Sendable {
    /// The stage of archiving and upload.
    public struct State: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The session continues, or is being finished.
        public static let recording = State(rawValue: "recording")
        /// The session is over, and its archive is not made yet.
        public static let waiting = State(rawValue: "waiting")
        /// Its archive is being made.
        public static let archiving = State(rawValue: "archiving")
        /// Its archive is on disk. It is not being uploaded at present, and may never be.
        public static let archived = State(rawValue: "archived")
        /// Its archive is being uploaded.
        public static let uploading = State(rawValue: "uploading")
        /// The receiver has confirmed its archive; its stream files are not marked at log-manager yet.
        public static let uploaded = State(rawValue: "uploaded")
        /// The receiver has confirmed its archive, and log-manager has marked its stream files.
        public static let marked = State(rawValue: "marked")
        /// Something failed; `reason` has the error, and whether it is retried.
        public static let failed = State(rawValue: "failed")
    }

    /// The session's name.
    public var session: String
    /// The stage reached.
    public var state: State
    /// The archive's path under the data directory; nil before it is made, and after it was removed.
    public var path: String?
    /// The archive's size; for several archives, their total.
    public var bytes: Int?
    /// SHA-256 of the archive, in hexadecimal; of several archives, that of the first.
    public var sha256: String?
    /// The receiver's confirmation: `<session>.receipt.json` without the list of files.
    public var receipt: JSONValue?
    /// The error, and what to do.
    public var reason: String?

    /// Creates a status.
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
