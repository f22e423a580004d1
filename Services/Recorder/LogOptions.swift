import Messages
import Recording

/// How one log is written, where that is not what its session says: absent is what the session says.
struct LogOptions: Hashable {
    var format: LogFormat?
    /// Bytes after which it goes on in a new file.
    var maximumFileSize: Int?
    /// Seconds after which it does.
    var maximumFileAge: Double?

    /// What log-manager says, as far as the recording left it open.
    init(_ configuration: LogConfiguration?, for record: SessionRecord) {
        guard let configuration else { return }
        if record.isFormatDefault == true {
            format = configuration.format.flatMap { LogFormat(rawValue: $0) }.flatMap { $0 == record.format ? nil : $0 }
        }
        if record.limits.maximumFileSize == nil, configuration.maximumFileSize > 0 {
            maximumFileSize = configuration.maximumFileSize
        }
        if record.limits.maximumFileAge == nil, configuration.maximumFileAge > 0, configuration.maximumFileAge < 1e9 {
            maximumFileAge = configuration.maximumFileAge
        }
    }

    /// Those of a log that was begun earlier.
    init(_ log: SessionRecord.Log) {
        format = log.format
        maximumFileSize = log.maximumFileSize
        maximumFileAge = log.maximumFileAge
    }
}
