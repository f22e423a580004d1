package import Messages

/// What stands in the bucket under a lease's name: who holds it, and what its recorder records.
package struct LeaseValue: Codable, Hashable, Sendable {
    package static let schema = "lease.v1"

    package private(set) var schema = LeaseValue.schema
    /// Who holds it, for people: a machine's name.
    package var holder: String
    /// One run of a holder's program: a program that starts again is another one.
    package var instance: String
    /// Counts the holders: each has a higher one than the holder before it.
    package var term: Int
    /// The term before; absent if there was none.
    package var previous: Int?
    /// Counts what the holder wrote, so that it knows its own writes when an answer was lost.
    package var renewal: Int
    /// Whether the holder has stopped its recorder and lets others have the lease at once; absent if not.
    package var isReleased: Bool?
    /// The sessions that run: whoever takes over continues them.
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
