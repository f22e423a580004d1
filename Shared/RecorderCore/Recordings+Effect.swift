package import Messages
package import Recording
package import ServiceKit

extension Recordings {
    /// Work that the caller carries out. If a method is named after the colon, call it with the result.
    package enum Effect: CoreEffect, Sendable {
        // Write-ahead log, one effect at a time

        /// Make a block durable: `appended`.
        case append(LogBlock)
        /// Delete the part before a position; the segment being written begins at `current`: `removedLog`.
        case removeLog(before: Int, current: Int)

        // Stream files, one effect at a time

        /// Write a block into files: `wrote`.
        case write(LogBlock)
        /// Write data that was held back so that more of its file is written at once: `wrote`.
        case writeDue
        /// Make a session's files durable while other files are written: `synced`.
        case sync(SessionIdentifier)
        /// Rebuild a failed session's files from the write-ahead log, and finish them: `rebuilt`.
        case rebuild(SessionDirectory, failures: [String])
        /// Forget a session's files.
        case forget(SessionIdentifier)

        // Documents

        /// Store a session's record: `stored`.
        case store(SessionRecord, SessionDirectory)
        /// Store a session's end: its report, its record and the checksums of its files: `concluded`.
        case conclude(SessionRecord, SessionReport, SessionDirectory)
        case removeJournal(SessionDirectory)
        /// Remove old files of a session that its ring selected: `removedFiles`.
        case removeFiles(SessionDirectory, [FinishedFile], at: WallTime)
        /// Carry out a step of discarding a session: `viewed`, `disposed`, `finished`, `foundExpired`.
        case dispose(DisposalStep)
        /// Free reserved space on a full disk.
        case release(Reserve)
        /// Reserve that space again.
        case restoreReserves
        /// Measure the free space: `take(freeBytes:)`. Then continue what a full disk interrupted.
        case lookAtDisk

        // Publishers and log-manager

        /// Request a replay of a stream's missing samples until none is missing: `missing`, `take`, `giveUp`.
        case recover(SessionIdentifier, StreamName)
        /// Ask publishers to describe their streams that match some patterns: `listed`. If hurried, wait one second at most.
        case list(SessionIdentifier, [String], at: Set<String>, isHurried: Bool)
        /// Compare publishers' clocks with this machine's: `compared`.
        case compareClocks(SessionIdentifier, at: Set<String>, isLast: Bool)
        /// Ask log-manager how logs are to be written: `unknownLogs`, `configured`.
        case configure
        case unsubscribe(Set<String>)

        // Messages to people

        indirect case notice(Notice)
        case ended(SessionReport, SessionStatus)
    }

    /// Disk space that is reserved for when the disk is full.
    package enum Reserve: Sendable {
        /// For samples that are still in memory.
        case samples
        /// For the ends of sessions, never for samples: markers, records, reports.
        case ends
    }
}
