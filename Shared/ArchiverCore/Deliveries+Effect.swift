package import ArchiveStorage
package import Messages
package import Recording
package import ServiceKit

extension Deliveries {
    /// Work that the caller carries out. Where a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        // The data directory, one after the other

        /// List all sessions, and remove what killed programs left: `scanned`.
        case scan
        /// Look at what is on disk of a session: `looked`.
        case look(SessionIdentifier)
        /// Take a session's claim, and look at it under the claim: `claimed`.
        case claim(SessionIdentifier)
        /// Give a session's claim back.
        case release(SessionIdentifier)
        /// Store what was made: `stored`.
        case storeRecord(ArchiveRecord)
        /// Store a receipt in place of what was made, or of an older receipt: `stored`.
        case storeReceipt(ArchiveReceipt)
        /// Look which files are there, by their paths in the data directory: `found`.
        case find(SessionIdentifier, [String])
        /// Remove archives that the receiver has: `removedArchives`.
        case removeArchives(ArchiveReceipt)
        /// Remove all that is left of a session that was discarded: `discarded`.
        case discard(SessionIdentifier)

        // Others, as many as there are at a time

        /// Make a session's archives: `made`.
        case make(SessionIdentifier)
        /// Try once to bring an archive to the receiver: `uploaded`.
        case upload(SessionIdentifier, ArchiveRecord.Archive)
        /// No archive of this record is uploaded any more.
        case forget(ArchiveRecord)
        /// Ask log-manager: `answered`.
        case ask(SessionIdentifier, LogManagerRequest)

        indirect case notice(Notice)
    }

    /// What log-manager is asked. Paths are in the data directory.
    package enum LogManagerRequest: Sendable {
        /// Mark files as uploaded.
        case mark([String], receipt: JSONValue)
        /// Remove files that are marked.
        case remove([String])
    }
}
