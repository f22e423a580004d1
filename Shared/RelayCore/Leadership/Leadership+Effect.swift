package import ServiceKit

extension Leadership {
    /// Work for the caller. The method named in a comment takes the result.
    package enum Effect: CoreEffect, Sendable {
        /// Read the lease, then call `answered`.
        case read(Int)
        /// Write the lease if it has this revision, or create it if `revision` is nil. Then call `answered`.
        case write(LeaseValue, revision: UInt64?, Int)
        /// Prepare the data directory for a term, then call `prepared`. If another machine has recorded since this one did, set
        /// the interrupted sessions aside first.
        case prepare(term: Int, setsAside: Bool)
        /// Start the recorder under a guard that kills it at `until`. Call `ended` when it ends or if it could not be started.
        case start(until: Int64)
        /// Postpone the time at which the guard kills the recorder.
        case extend(until: Int64)
        /// Send SIGTERM to the recorder.
        case terminate
        /// Send SIGKILL to the recorder.
        case kill
        /// Request the recorder to continue a session, then call `continued`.
        case `continue`(SessionContinuation)

        /// Request from the recorder the plan that another recorder needs to continue the session, then call `planned`.
        case plan(String)

        case notice(Notice)
    }

    /// A reply of the lease servers.
    package enum Answer: Hashable, Sendable {
        /// The current lease.
        case value(LeaseValue, revision: UInt64)
        /// The lease was never written, or was deleted with this revision.
        case absent(revision: UInt64?)
        /// The write succeeded and produced this revision.
        case stored(revision: UInt64)
        /// The write failed because the lease has another revision.
        case conflict
        /// No reply arrived in time: a write may still take effect.
        case unknown(String)
    }
}
