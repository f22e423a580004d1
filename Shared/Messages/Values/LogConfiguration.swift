/// How the files of a log are to be written: asked for by recorders when they begin one, and from time to time while they
/// write it, unless a recording says it.
public struct LogConfiguration: Codable, Hashable, Sendable {
    /// A log file is finished at this many bytes by default: 64 MB.
    ///
    /// The ancestor's 1 MiB was the size of an upload from a phone. At 100 Hz a stream fills it in 80 s, so a thousand streams
    /// would finish twelve files a second, each with two syncs and a row in the catalog.
    public static let defaultMaximumFileSize = 64_000_000
    /// A log file is finished after this many seconds by default: 3 days, as the ancestor has it.
    public static let defaultMaximumFileAge = 259_200.0

    /// The log, as its files are named: `left-wrist_accelerometer`. Or a pattern of names, `left-*`.
    public var name: String
    /// `json`, `csv` or `tsv`; nil if the recording decides.
    public var format: String?
    /// A log file is finished and the next one begun at this many bytes; 0 for never.
    public var maximumFileSize: Int
    /// A log file is finished and the next one begun after this many seconds; 0 for never.
    public var maximumFileAge: Double

    /// A log's configuration.
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
