package import Messages
package import Recording
package import ServiceKit

extension StreamFiles {
    /// Work that the caller carries out. If a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        // The catalog: at once, in this order, before anything else happens

        /// Change the catalog: `changed`.
        case change(Int, CatalogChange)
        /// Free the space that is reserved for a full disk.
        case releaseReserve
        /// Reserve it again.
        case restoreReserve
        /// Look how many bytes are free on the disk: `take(freeBytes:)`.
        case lookAtDisk
        /// Look for files that a recorder announced: `found`.
        case find([SegmentFinished])

        // Files, while requests are answered

        /// Look at files by their paths: `looked`.
        case look(Int, [String])
        /// Carry out a step for files that are being removed: `stepped`.
        case remove(RemovalStep, [CatalogFile])
        /// Take from `recordings` what remains of sessions that are over and have no stream files, if files of theirs were removed
        /// before; `onlyUploaded`, if all of these had been uploaded: `retiredRemains`.
        case retireRemains([SessionIdentifier], onlyUploaded: Bool)
        /// Publish all events so far, then remove what was retired of these sessions: `erasedRemains`.
        case eraseRemains([SessionIdentifier])
        /// List the sessions: `listed`.
        case listSessions
        /// Make the catalog have what a session's directory has: `compared`. If nothing else uses the catalog yet, at once.
        case compare(SessionIdentifier, atOnce: Bool)

        indirect case notice(Notice)
    }
}
