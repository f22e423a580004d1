package import Messages

/// A session that a recorder should continue, in a term.
package struct SessionContinuation: Hashable, Sendable {
    package let plan: SessionPlan
    package let term: Int

    /// The maximum time by which a session may begin in the future, as clocks differ a little. In seconds.
    private static let clockTolerance = 5.0

    /// Why the recorder must not continue the session at present; nil if it may. The recorder takes a start in the future
    /// for the present, so it would not request the samples that the session has so far.
    package func obstacle(at date: WallTime) -> String? {
        guard let from = plan.start.from, from.seconds(since: date) > Self.clockTolerance else { return nil }
        return "its start, \(from.utcText), is in the future: set this machine's clock"
    }

    /// The result of the request.
    package enum Outcome: Hashable, Sendable {
        /// The recorder is recording the session.
        case running
        /// The recorder has an ended session of this name. If none of its start times is the plan's, it is an older session. It
        /// has two if the recorder's clock was set: its own, and that of its plan now.
        case over(startDates: [WallTime])
        /// The recorder cannot continue the session at present. The next recorder is asked, here or on another machine.
        case failed(String)
        /// No recorder would continue the session.
        case refused(String)
        /// The recorder ended before it replied. The next recorder is asked.
        case unanswered
    }
}
