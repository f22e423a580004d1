/// What happened to finished log files: `log.v1`, at each mark and removal, and when a threshold is crossed.
public struct LogFileEvent: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "log.v1"
    /// The `name` of what concerns all logs. No log is called so.
    public static let allLogs = "*"

    /// What kind of thing happened.
    public struct Change: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A threshold was crossed: `threshold`, `bytes` and `limit` say which, and how.
        public static let threshold = Change(rawValue: "threshold")
        /// A file's upload was confirmed.
        public static let marked = Change(rawValue: "marked")
        /// A file's mark was taken back.
        public static let unmarked = Change(rawValue: "unmarked")
        /// A file was removed: `reason` says why.
        public static let removed = Change(rawValue: "removed")
    }

    /// The schema that the body names.
    public private(set) var schema: String = LogFileEvent.schema
    /// The program that published it.
    public var source: String
    /// How many events of this topic the source published before.
    public var sequence: Int
    /// The log; `*` where it is about all of them.
    public var name: String
    /// What happened.
    public var change: Change
    /// When.
    public var date: WallTime
    /// The file, by its path under the data directory.
    public var path: String?
    /// The file's size, or what was compared with the threshold.
    public var bytes: Int?
    /// Why a file was removed: `removeUploaded`, `removeOldAndUploaded`, `logs.remove` or `whenFull`.
    public var reason: String?
    /// Which threshold: `pendingUploadBytes`, `totalBytes` or `minimumFreeBytes`.
    public var threshold: String?
    /// The threshold's value.
    public var limit: Int?

    /// Something that happened.
    public init(
        source: String, sequence: Int, name: String, change: Change, date: WallTime, path: String? = nil,
        bytes: Int? = nil, reason: String? = nil, threshold: String? = nil, limit: Int? = nil
    ) {
        self.source = source
        self.sequence = sequence
        self.name = name
        self.change = change
        self.date = date
        self.path = path
        self.bytes = bytes
        self.reason = reason
        self.threshold = threshold
        self.limit = limit
    }

    /// Where it is published.
    public var topic: String { TopicArea.log + name }
}
