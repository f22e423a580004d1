package import Messages

/// A step in the removal of files that are in the ledger. Each step can be repeated.
package enum RemovalStep: Hashable, Sendable {
    /// Compare the files with the catalog. A file that does not exist passes.
    case check
    /// Add the files to their sessions' lists of removed files, and make the lists durable.
    case list(RemovalReason, WallTime)
    /// Unlink the files that still match the catalog.
    case unlink
    /// Make the sessions' directories durable.
    case sync
}

package struct RemovalFailure: Hashable, Sendable {
    /// The rest of a sentence that begins with the file's path.
    package let reason: String
    package let isDiskFull: Bool

    package init(_ reason: String, isDiskFull: Bool = false) {
        self.reason = reason
        self.isDiskFull = isDiskFull
    }
}
