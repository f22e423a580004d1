package import ServiceKit

extension Leadership {
    /// Work that the caller carries out, with the method to call with the result.
    package enum Effect: CoreEffect, Sendable {
        /// Read the lease: `answered`.
        case read(Int)
        /// Write the lease if it has this revision, or create it if it must not be there: `answered`.
        case write(LeaseValue, revision: UInt64?, Int)
        /// Make the data directory ready for a term: `prepared`. If others recorded since this machine did, its interrupted
        /// sessions are set aside first.
        case prepare(term: Int, setsAside: Bool)
        /// Start the recorder under a guard that kills it at a time: `ended`, also if it could not be started.
        case start(until: Int64)
        /// Put off the time at which the guard kills the recorder.
        case extend(until: Int64)
        /// Tell the recorder to stop: SIGTERM.
        case terminate
        /// End the recorder at once: SIGKILL.
        case kill
        /// Have the recorder continue a session: `continued`.
        case `continue`(SessionContinuation)

        /// Ask the recorder what another one needs to continue a session: `planned`.
        case plan(String)

        case notice(Notice)
    }

    /// What the servers answered.
    package enum Answer: Hashable, Sendable {
        /// The lease as it was read.
        case value(LeaseValue, revision: UInt64)
        /// It was never written, or was deleted with this revision.
        case absent(revision: UInt64?)
        /// It was written, and has this revision now.
        case stored(revision: UInt64)
        /// It was not written: it has another revision.
        case conflict
        /// There was no answer in time: a write may come to be or not.
        case unknown(String)
    }
}
