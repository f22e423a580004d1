package import Messages
package import Recording
package import ServiceKit

extension Recordings {
    /// Work that the caller carries out. Where a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        // The write-ahead log, one after the other

        /// Make a block durable: `appended`.
        case append(LogBlock)
        /// Delete what is before a position; the segment that is being written begins at `current`: `removedLog`.
        case removeLog(before: Int, current: Int)

        // Stream files, one after the other

        /// Write a block into files: `wrote`.
        case write(LogBlock)
        /// Write what waits to be written with more of its file: `wrote`.
        case writeDue
        /// Make a session's files durable, while others are written: `synced`.
        case sync(SessionIdentifier)
        /// Write a failed session's files anew from the write-ahead log, and finish them: `rebuilt`.
        case rebuild(SessionDirectory, failures: [String])
        /// Forget a session's files.
        case forget(SessionIdentifier)

        // Documents

        /// Store what is known of a session: `stored`.
        case store(SessionRecord, SessionDirectory)
        /// Store the end of a session: its report, what is known of it, and the checksums of its files: `concluded`.
        case conclude(SessionRecord, SessionReport, SessionDirectory)
        case removeJournal(SessionDirectory)
        /// Remove old files of a session, as its ring says: `removedFiles`.
        case removeFiles(SessionDirectory, [FinishedFile], at: WallTime)
        /// Do a step for a session that is discarded: `viewed`, `disposed`, `finished`, `foundExpired`.
        case dispose(DisposalStep)
        /// Free reserved space on a full disk.
        case release(Reserve)
        /// Reserve that space again.
        case restoreReserves
        /// Look how much room there is: `take(freeBytes:)`, and continue what a full disk interrupted.
        case lookAtDisk

        // Publishers and log-manager

        /// Ask for a stream's missing samples until none is missing: `missing`, `take`, `giveUp`.
        case recover(SessionIdentifier, StreamName)
        /// Ask publishers to describe their streams that match some patterns: `listed`. If hurried, wait a second at most.
        case list(SessionIdentifier, [String], at: Set<String>, isHurried: Bool)
        /// Compare publishers' clocks with this machine's: `compared`.
        case compareClocks(SessionIdentifier, at: Set<String>, isLast: Bool)
        /// Ask log-manager how logs are to be written: `unknownLogs`, `configured`.
        case configure
        case unsubscribe(Set<String>)

        // People

        indirect case notice(Notice)
        /// A session is over.
        case ended(SessionReport, SessionStatus)
    }

    /// Space that is reserved for a full disk.
    package enum Reserve: Sendable {
        /// For what is in memory.
        case samples
        /// For the ends of sessions, which no sample gets: markers, records, reports.
        case ends
    }
}
