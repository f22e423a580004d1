/// A log file was finished and will not change again: `segment.v1`.
public struct SegmentFinished: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "segment.v1"

    /// The schema that the body names.
    public private(set) var schema: String = SegmentFinished.schema
    /// The program that published it.
    public var source: String
    /// How many events of this topic the source published before.
    public var sequence: Int
    /// The recording that it belongs to.
    public var session: String
    /// The log that it is a part of.
    public var log: String
    /// Its path under the data directory.
    public var path: String
    /// Its size.
    public var bytes: Int
    /// How many samples it holds; markers are not counted.
    public var samples: Int
    /// SHA-256 of its bytes, in hexadecimal.
    public var sha256: String

    /// A finished file.
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

    /// Where it is published.
    public var topic: String { "\(TopicArea.segment)\(session)/\(log)" }
}
