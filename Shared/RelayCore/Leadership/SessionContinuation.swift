package import Messages

/// A session that a recorder is to continue, in a term.
package struct SessionContinuation: Hashable, Sendable {
    package let plan: SessionPlan
    package let term: Int

    /// What became of it.
    package enum Outcome: Hashable, Sendable {
        /// The recorder records it.
        case running
        /// It is over: nothing is to be continued.
        case over
        /// The recorder refused it.
        case refused(String)
        /// The recorder ended before it answered; the next one is asked.
        case unanswered
    }
}
