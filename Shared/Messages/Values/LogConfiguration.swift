/// How the stream files of a log are written. Recorders request it when they begin a log, and periodically while they write it,
/// unless the recording itself sets these values.
public struct LogConfiguration: Codable, Hashable, Sendable {
    /// A stream file is finished at this many bytes by default: 64 MB.
    ///
    /// The ancestor's 1 MiB was the size of an upload from a phone. At 100 Hz a stream fills it in 80 s, so a thousand streams
    /// would finish twelve files a second, each with two syncs and a row in the catalog.
    public static let defaultMaximumFileSize = 64_000_000
    /// A stream file is finished after this many seconds by default: 3 days, the ancestor's value.
    public static let defaultMaximumFileAge = 259_200.0

    /// The log's name, the stem of its stream files' names: `left-wrist_accelerometer`. Or a pattern of names, `left-*`.
    public var name: String
    /// `json`, `csv` or `tsv`; nil if the recording decides.
    public var format: String?
    /// The size in bytes at which a stream file is finished and the next one begins; 0 for no limit.
    public var maximumFileSize: Int
    /// The age in seconds at which a stream file is finished and the next one begins; 0 for no limit.
    public var maximumFileAge: Double

    /// Creates a configuration.
    public init(
        name: String, format: String? = nil, maximumFileSize: Int = Self.defaultMaximumFileSize,
        maximumFileAge: Double = Self.defaultMaximumFileAge
    ) {
        self.name = name
        self.format = format
        self.maximumFileSize = maximumFileSize
        self.maximumFileAge = maximumFileAge
    }
}
