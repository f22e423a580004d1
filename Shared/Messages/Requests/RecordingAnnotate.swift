/// Adds a label to a moment or a span of a recording, running or over: `recording.annotate`.
public struct RecordingAnnotate: Request, Hashable {
    /// The name on the wire.
    public static let method = "recording.annotate"
    /// The required role.
    public var neededRole: Role { .command }
    /// A repeated request without `from` would add another annotation.
    public static let isRepeatable = false

    /// The session's name.
    public var session: String
    /// One word: `fall`, `sit`; up to 256 bytes. Empty to withdraw the annotation that `corrects` names.
    public var label: String
    /// When the labelled event happened or began, between the session's start and end. By default the time at which the request
    /// arrives.
    public var from: WallTime?
    /// When it ended; absent for a moment.
    public var to: WallTime?
    /// The stream that the annotation concerns; absent for all streams.
    public var stream: StreamName?
    /// Free text, up to 1,024 bytes.
    public var note: String?
    /// The number of the annotation that this one corrects.
    public var corrects: Int?

    /// The stored annotation.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The annotation. If an equal one with the same `from` already existed, that one.
        public var annotation: Annotation

        /// Creates the reply.
        public init(session: String, annotation: Annotation) {
            self.session = session
            self.annotation = annotation
        }
    }

    /// Creates the request.
    public init(
        session: String, label: String, from: WallTime? = nil, to: WallTime? = nil, stream: StreamName? = nil,
        note: String? = nil, corrects: Int? = nil
    ) {
        self.session = session
        self.label = label
        self.from = from
        self.to = to
        self.stream = stream
        self.note = note
        self.corrects = corrects
    }
}
