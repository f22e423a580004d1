/// Number and bytes of finished files.
package struct LogUsage: Hashable, Sendable {
    package var files = 0
    package var bytes = 0
    /// How many of the files are not marked as uploaded.
    package var pendingFiles = 0
    /// Bytes of the files that are not marked as uploaded.
    package var pendingBytes = 0

    package init(files: Int = 0, bytes: Int = 0, pendingFiles: Int = 0, pendingBytes: Int = 0) {
        self.files = files
        self.bytes = bytes
        self.pendingFiles = pendingFiles
        self.pendingBytes = pendingBytes
    }

    /// Adds a file to the counts, or with -1 subtracts it.
    package mutating func count(_ file: CatalogFile, _ sign: Int = 1) {
        files += sign
        bytes += sign * file.bytes
        guard file.uploaded == nil else { return }
        pendingFiles += sign
        pendingBytes += sign * file.bytes
    }

    package static func += (total: inout LogUsage, part: LogUsage) {
        total.files += part.files
        total.bytes += part.bytes
        total.pendingFiles += part.pendingFiles
        total.pendingBytes += part.pendingBytes
    }
}
