/// How the files of a log are to be written: asked for by recorders when they begin one, unless a recording says it.
public struct LogConfiguration: Codable, Hashable, Sendable {
    /// A log file is finished at this many bytes by default: 1 MiB.
    public static let defaultMaximumFileSize = 1_048_576
    /// A log file is finished after this many seconds by default: 3 days.
    public static let defaultMaximumFileAge = 259_200.0

    /// The log, as its files are named: `left-wrist_accelerometer`.
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
