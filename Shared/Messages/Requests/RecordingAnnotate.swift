/// Adds a label to a moment or a span of a recording, also of one that is over: `recording.annotate`.
public struct RecordingAnnotate: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "recording.annotate"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// A second one without `from` would be another annotation.
    public static let isRepeatable = false

    /// The session.
    public var session: String
    /// What it says in a word: `fall`, `sit`; up to 256 bytes. Empty to withdraw the annotation that it corrects.
    public var label: String
    /// When what it says happened or began: from the session's start to its end. By default the time at which it arrives.
    public var from: WallTime?
    /// When that ended; absent for a moment.
    public var to: WallTime?
    /// The stream that it is about; absent if it is about all.
    public var stream: StreamName?
    /// More words, up to 1,024 bytes.
    public var note: String?
    /// The number of an annotation in whose place it stands.
    public var corrects: Int?

    /// What is kept.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The annotation. If the same one with the same `from` was there already, it is that.
        public var annotation: Annotation

        /// What is kept.
        public init(session: String, annotation: Annotation) {
            self.session = session
            self.annotation = annotation
        }
    }

    /// Asks for an annotation to be kept.
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
