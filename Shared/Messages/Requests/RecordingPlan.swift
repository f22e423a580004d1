/// Asks for everything another recorder needs to continue a session: `recording.plan`.
public struct RecordingPlan: Request, Hashable {
    /// The name on the wire.
    public static let method = "recording.plan"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The session's name.
    public var session: String

    /// Creates the request.
    public init(session: String) { self.session = session }

    /// The session's plan.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The session's status.
        public var status: String
        /// The data to continue the session with.
        public var plan: SessionPlan

        /// Creates the reply.
        public init(session: String, status: String, plan: SessionPlan) {
            self.session = session
            self.status = status
            self.plan = plan
        }
    }
}

/// Everything a recorder needs to record a session that another recorder began, from its start.
public struct SessionPlan: Codable, Hashable, Sendable {
    /// The request that starts the session: its start as `from`, its end as `until`, and its steps and pauses as `changes`.
    public var start: RecordingStart
    /// The session's annotations, ordered by number; absent if there are none.
    public var annotations: [Annotation]?

    /// Creates a plan.
    public init(start: RecordingStart, annotations: [Annotation]? = nil) {
        self.start = start
        self.annotations = annotations
    }

    /// The session's name.
    public var session: String { start.session ?? "" }

    /// The request that adds an annotation to the new recording. Add all of them in order.
    /// - Parameter numbers: the new numbers of the annotations that were added, by their numbers in the plan. They differ if
    ///   somebody else annotated the new recording meanwhile.
    /// - Throws: `invalidParameter` if the annotation corrects one that was not added.
    public func annotationRequest(
        for annotation: Annotation, numbers: [Int: Int]
    ) throws(RequestError) -> RecordingAnnotate {
        let corrects = annotation.corrects.flatMap { numbers[$0] }
        try RequestError.require(
            annotation.corrects == nil || corrects != nil,
            "annotation \(annotation.number) corrects \(annotation.corrects ?? 0), which was not kept: add both again")
        return RecordingAnnotate(
            session: session, label: annotation.label, from: annotation.from, to: annotation.to,
            stream: annotation.stream, note: annotation.note, corrects: corrects)
    }
}
