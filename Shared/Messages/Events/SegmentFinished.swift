/// A stream file was finished and will not change again: `segment.v1`.
public struct SegmentFinished: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "segment.v1"

    /// The schema that the body names.
    public private(set) var schema: String = SegmentFinished.schema
    /// The publishing program's name.
    public var source: String
    /// The number of earlier events on this topic.
    public var sequence: Int
    /// The recording that the file belongs to.
    public var session: String
    /// The log that the file belongs to.
    public var log: String
    /// The file's path under the data directory.
    public var path: String
    /// The file's size.
    public var bytes: Int
    /// The number of samples in the file, without markers.
    public var samples: Int
    /// SHA-256 of the file's bytes, in hexadecimal.
    public var sha256: String

    /// Creates an event.
    public init(
        source: String, sequence: Int, session: String, log: String, path: String, bytes: Int, samples: Int,
        sha256: String
    ) {
        self.source = source
        self.sequence = sequence
        self.session = session
        self.log = log
        self.path = path
        self.bytes = bytes
        self.samples = samples
        self.sha256 = sha256
    }

    /// `segment/<session>/<log>`.
    public var topic: String { "\(TopicArea.segment)\(session)/\(log)" }
}
