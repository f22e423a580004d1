package import Messages

/// The value in the bucket under a lease's name: the holder and the sessions that its recorder records.
package struct LeaseValue: Codable, Hashable, Sendable {
    package static let schema = "lease.v1"

    package private(set) var schema = LeaseValue.schema
    /// The name of the holder's machine, for display.
    package var holder: String
    /// Identifies one run of the holder's program; a restarted program has a new value.
    package var instance: String
    /// Increases with each holder.
    package var term: Int
    /// The previous term; absent if there was none.
    package var previous: Int?
    /// Counts the holder's writes, so that the holder recognizes its own write if a reply was lost.
    package var renewal: Int
    /// Whether the holder has stopped its recorder and another machine may take the lease at once; absent if not.
    package var isReleased: Bool?
    /// The running sessions, which the next holder continues.
    package var sessions: [SessionPlan]

    package init(
        holder: String, instance: String, term: Int, previous: Int? = nil, renewal: Int, isReleased: Bool? = nil,
        sessions: [SessionPlan] = []
    ) {
        self.holder = holder
        self.instance = instance
        self.term = term
        self.previous = previous
        self.renewal = renewal
        self.isReleased = isReleased
        self.sessions = sessions
    }
}
