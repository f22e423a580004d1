/// A change to finished stream files: `log.v1`, published at each mark and removal, and when a threshold is crossed.
public struct LogFileEvent: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "log.v1"
    /// The `name` of events that concern all logs. No log has this name.
    public static let allLogs = "*"

    /// The kind of change.
    public struct Change: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A threshold was crossed; `threshold`, `bytes` and `limit` have its name, the measured value and its limit.
        public static let threshold = Change(rawValue: "threshold")
        /// A file's upload was confirmed.
        public static let marked = Change(rawValue: "marked")
        /// A file's mark was removed.
        public static let unmarked = Change(rawValue: "unmarked")
        /// A file was removed; `reason` names the cause.
        public static let removed = Change(rawValue: "removed")
    }

    /// The schema that the body names.
    public private(set) var schema: String = LogFileEvent.schema
    /// The publishing program's name.
    public var source: String
    /// The number of earlier events on this topic.
    public var sequence: Int
    /// The log's name; `*` for all logs.
    public var name: String
    /// The kind of change.
    public var change: Change
    /// When it happened.
    public var date: WallTime
    /// The file's path under the data directory.
    public var path: String?
    /// The file's size, or the value that was compared with the threshold.
    public var bytes: Int?
    /// Why a file was removed: `removeUploaded`, `removeOldAndUploaded`, `logs.remove` or `whenFull`.
    public var reason: String?
    /// Which threshold: `pendingUploadBytes`, `totalBytes` or `minimumFreeBytes`.
    public var threshold: String?
    /// The threshold's value.
    public var limit: Int?

    /// Creates an event.
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

    /// The event's topic.
    public var topic: String { TopicArea.log + name }
}
