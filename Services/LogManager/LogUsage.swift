/// How much finished files are.
struct LogUsage: Hashable, Sendable {
    var files = 0
    var bytes = 0
    /// How many of them are not marked as uploaded.
    var pendingFiles = 0
    /// The bytes of those.
    var pendingBytes = 0

    /// Counts a file, or with -1 counts it no more.
    mutating func count(_ file: CatalogFile, _ sign: Int = 1) {
        files += sign
        bytes += sign * file.bytes
        guard file.uploaded == nil else { return }
        pendingFiles += sign
        pendingBytes += sign * file.bytes
    }

    /// Adds up.
    static func += (total: inout LogUsage, part: LogUsage) {
        total.files += part.files
        total.bytes += part.bytes
        total.pendingFiles += part.pendingFiles
        total.pendingBytes += part.pendingBytes
    }
}
