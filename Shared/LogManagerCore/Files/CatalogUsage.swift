package import Recording

/// Numbers and bytes of finished files, in total and by log.
package struct CatalogUsage: Hashable, Sendable {
    package private(set) var total = LogUsage()
    /// Only logs that have files.
    package private(set) var logs: [LogName: LogUsage] = [:]

    package init() {}

    package var totalBytes: Int { total.bytes }
    /// Bytes of finished files that are not marked as uploaded.
    package var pendingBytes: Int { total.pendingBytes }

    /// Adds a file to the counts, or with -1 subtracts it.
    package mutating func count(_ file: CatalogFile, _ sign: Int = 1) {
        total.count(file, sign)
        logs[file.log, default: LogUsage()].count(file, sign)
        if logs[file.log]?.files == 0 { logs[file.log] = nil }
    }

    package mutating func add(_ usage: LogUsage, of log: LogName) {
        total += usage
        logs[log, default: LogUsage()] += usage
    }
}
