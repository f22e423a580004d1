package import Recording

/// How much there is of finished files, in all and of each log.
package struct CatalogUsage: Hashable, Sendable {
    /// Of all logs together.
    package private(set) var total = LogUsage()
    /// Of each log that has files.
    package private(set) var logs: [LogName: LogUsage] = [:]

    package init() {}

    /// Bytes of all finished files.
    package var totalBytes: Int { total.bytes }
    /// Bytes of those that are not marked as uploaded.
    package var pendingBytes: Int { total.pendingBytes }

    /// Counts a file, or with -1 counts it no more.
    package mutating func count(_ file: CatalogFile, _ sign: Int = 1) {
        total.count(file, sign)
        logs[file.log, default: LogUsage()].count(file, sign)
        if logs[file.log]?.files == 0 { logs[file.log] = nil }
    }

    /// Adds what a log has.
    package mutating func add(_ usage: LogUsage, of log: LogName) {
        total += usage
        logs[log, default: LogUsage()] += usage
    }
}
