package import Messages
package import Recording
package import ServiceKit

extension StreamFiles {
    /// Work that the caller carries out. If a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        // For the catalog: carried out at once and in order, before anything else happens

        /// Change the catalog: `changed`.
        case change(Int, CatalogChange)
        /// Free the reserved space, because the disk is full.
        case releaseReserve
        /// Reserve the space again.
        case restoreReserve
        /// Read how many bytes are free on the disk: `take(freeBytes:)`.
        case lookAtDisk
        /// Look for files that a recorder announced: `found`.
        case find([SegmentFinished])

        // For files: carried out while requests are answered

        /// Look at files by their paths: `looked`.
        case look(Int, [String])
        /// Carry out a step for files that are being removed: `stepped`.
        case remove(RemovalStep, [CatalogFile])
        /// Rename the directories of these sessions, if they are over, have no stream files, and lost files to a removal before;
        /// with `onlyUploaded`, only if all of those had been uploaded: `retiredRemains`.
        case retireRemains([SessionIdentifier], onlyUploaded: Bool)
        /// Publish all events so far, then remove the retired directories of these sessions: `erasedRemains`.
        case eraseRemains([SessionIdentifier])
        /// List the sessions: `listed`.
        case listSessions
        /// Update the catalog from a session's directory: `compared`. At once if nothing else uses the catalog yet.
        case compare(SessionIdentifier, atOnce: Bool)

        indirect case notice(Notice)
    }
}
