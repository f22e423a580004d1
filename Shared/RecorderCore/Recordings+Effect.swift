package import Logging
package import Messages
package import Recording

extension Recordings {
    /// What somebody is to do for the recorder. Where a method is named, it is to be told what came of it.
    package enum Effect: Sendable {
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
        /// Give room on a full disk free.
        case release(Reserve)
        /// Take up that room again.
        case restoreReserves

        // Publishers and log-manager

        /// Ask for a stream's missing samples until none is missing: `missing`, `take`, `giveUp`.
        case recover(SessionIdentifier, StreamName)
        /// Ask publishers how far their streams of some patterns are: `listed`. If it is hurried, nobody waits long.
        case list(SessionIdentifier, [String], at: Set<String>, isHurried: Bool)
        /// Compare publishers' clocks with ours: `compared`.
        case compareClocks(SessionIdentifier, at: Set<String>, isLast: Bool)
        /// Ask log-manager how logs are to be written: `unknownLogs`, `configured`.
        case configure
        case unsubscribe(Set<String>)

        // Time and people

        /// Call `advance` at a time on the monotonic clock.
        case wake(Int64)
        case publish(RecordingEvent)
        /// A finished file is listed in `session.json`, so that whoever hears of it may remove it.
        case announce(SegmentFinished)
        case log(Logger.Level, Logger.Message, Logger.Metadata)
        /// Health tells of something under a key.
        case degraded(String, for: String)
        /// Health tells no more of what was told under a key.
        case well(String)
        /// Health tells of a publisher's clock that is so many seconds ahead of ours.
        case wrongClock(String, ahead: Double)
        /// Something that arrived could not be read.
        case malformed(any Error)
        /// A session is over.
        case ended(SessionReport, SessionStatus)
    }

    /// Room that is kept for a full disk.
    package enum Reserve: Sendable {
        /// For what is in memory.
        case samples
        /// For the ends of sessions, which no sample gets: markers, records, reports.
        case ends
    }
}
