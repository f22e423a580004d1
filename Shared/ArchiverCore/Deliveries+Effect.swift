package import ArchiveStorage
package import Messages
package import Recording
package import ServiceKit

extension Deliveries {
    /// Work for the caller. A method named after the colon takes the result.
    package enum Effect: CoreEffect, Sendable {
        // The data directory, one after the other

        /// List all sessions, and remove the leftovers of killed programs: `scanned`.
        case scan
        /// Read a session's state on disk: `looked`.
        case look(SessionIdentifier)
        /// Claim a session, and read its state under the claim: `claimed`.
        case claim(SessionIdentifier)
        /// Release a session's claim.
        case release(SessionIdentifier)
        /// Store a record: `stored`.
        case storeRecord(ArchiveRecord)
        /// Store a receipt in place of a record or an older receipt: `stored`.
        case storeReceipt(ArchiveReceipt)
        /// Find out which files exist, by their paths in the data directory: `found`.
        case find(SessionIdentifier, [String])
        /// Remove archives that the receiver has: `removedArchives`.
        case removeArchives(ArchiveReceipt)
        /// Remove the remaining files of a discarded session: `discarded`.
        case discard(SessionIdentifier)

        // Others, as many as there are at a time

        /// Make a session's archives: `made`.
        case make(SessionIdentifier)
        /// Make one attempt to upload an archive: `uploaded`.
        case upload(SessionIdentifier, ArchiveRecord.Archive)
        /// Forget a record whose archives will no longer be uploaded.
        case forget(ArchiveRecord)
        /// Send a request to log-manager: `answered`.
        case ask(SessionIdentifier, LogManagerRequest)

        indirect case notice(Notice)
    }

    /// A request to log-manager. Paths are relative to the data directory.
    package enum LogManagerRequest: Sendable {
        case mark([LogsMarkUploaded.File], receipt: JSONValue)
        /// Remove marked files.
        case remove([String])
    }
}
