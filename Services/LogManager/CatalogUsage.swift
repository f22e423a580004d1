import Recording

/// How much there is of finished files, in all and of each log.
struct CatalogUsage: Hashable, Sendable {
    /// Of all logs together.
    private(set) var total = LogUsage()
    /// Of each log that has files.
    private(set) var logs: [LogName: LogUsage] = [:]

    /// Bytes of all finished files.
    var totalBytes: Int { total.bytes }
    /// Bytes of those that are not marked as uploaded.
    var pendingBytes: Int { total.pendingBytes }

    /// Counts a file, or with -1 counts it no more.
    mutating func count(_ file: CatalogFile, _ sign: Int = 1) {
        total.count(file, sign)
        logs[file.log, default: LogUsage()].count(file, sign)
        if logs[file.log]?.files == 0 { logs[file.log] = nil }
    }

    /// Adds what a log has.
    mutating func add(_ usage: LogUsage, of log: LogName) {
        total += usage
        logs[log, default: LogUsage()] += usage
    }
}
