package import Messages

/// One step of the removal of files that are in the ledger. Each step may be repeated.
package enum RemovalStep: Hashable, Sendable {
    /// Compare the files with what was cataloged. A file that is not there passes.
    case check
    /// Add the files to their sessions' lists of removed files, and make these durable.
    case list(RemovalReason, WallTime)
    /// Unlink the files that are still what was cataloged.
    case unlink
    /// Make the sessions' directories durable.
    case sync
}

/// Why a step was not done for a file.
package struct RemovalFailure: Hashable, Sendable {
    /// A sentence that begins with the file's path, without it.
    package let reason: String
    package let isDiskFull: Bool

    package init(_ reason: String, isDiskFull: Bool = false) {
        self.reason = reason
        self.isDiskFull = isDiskFull
    }
}
