/// Asks for what another recorder needs to continue a session: `recording.plan`.
public struct RecordingPlan: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "recording.plan"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// The session.
    public var session: String

    /// Asks.
    public init(session: String) { self.session = session }

    /// A session as another recorder continues it.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The session's status.
        public var status: String
        /// How to continue it.
        public var plan: SessionPlan

        /// A session's plan.
        public init(session: String, status: String, plan: SessionPlan) {
            self.session = session
            self.status = status
            self.plan = plan
        }
    }
}

/// What a recorder needs to record a session from its start that another recorder began.
public struct SessionPlan: Codable, Hashable, Sendable {
    /// The request that starts it: with its start as `from`, its end as `until`, and its steps and pauses as `changes`.
    public var start: RecordingStart
    /// Its annotations, in the order of their numbers; absent if it has none.
    public var annotations: [Annotation]?

    /// A plan.
    public init(start: RecordingStart, annotations: [Annotation]? = nil) {
        self.start = start
        self.annotations = annotations
    }

    /// The session's name.
    public var session: String { start.session ?? "" }

    /// The requests that add its annotations again, in their order.
    public var annotationRequests: [RecordingAnnotate] {
        (annotations ?? []).map { annotation in
            RecordingAnnotate(
                session: session, label: annotation.label, from: annotation.from, to: annotation.to,
                stream: annotation.stream, note: annotation.note, corrects: annotation.corrects)
        }
    }
}
