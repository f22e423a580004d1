/// What happened to a recording: `recording.v1`, at each change of status, step or pause, each gap and failure, and
/// once with the report.
public struct RecordingEvent: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "recording.v1"

    /// What kind of thing happened.
    public struct Change: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The status rose, or the session's end was put off.
        public static let status = Change(rawValue: "status")
        /// The step changed.
        public static let step = Change(rawValue: "step")
        /// Samples are not written from here on.
        public static let pause = Change(rawValue: "pause")
        /// Samples are written again.
        public static let resume = Change(rawValue: "resume")
        /// The recorder restarted and resumed the session.
        public static let restart = Change(rawValue: "restart")
        /// Samples were lost for good: `gap` says which.
        public static let gap = Change(rawValue: "gap")
        /// Something failed: `reason` says what and why. If it is a sensor, `stream` names it and the recording continues;
        /// otherwise the recording failed.
        public static let failure = Change(rawValue: "failure")
        /// The recording is over: `report` says how it went.
        public static let report = Change(rawValue: "report")
        /// Somebody added an annotation, maybe after the end: `annotation` has it.
        public static let annotation = Change(rawValue: "annotation")
        /// Nothing new: each second while it runs, for subscribers that came late.
        public static let current = Change(rawValue: "current")
        /// The recording was discarded: nothing of it is left but a line in `recordings/discarded.ndjson`.
        public static let discard = Change(rawValue: "discard")
    }

    /// The schema that the body names.
    public private(set) var schema: String = RecordingEvent.schema
    /// The program that published it.
    public var source: String
    /// How many events of this topic the source published before.
    public var sequence: Int
    /// The recording.
    public var session: String
    /// When it happened, on the recorder's clock.
    public var date: WallTime
    /// What happened.
    public var change: Change
    /// The status after it.
    public var status: String
    /// The step path after it.
    public var step: String
    /// The stream that lost samples, that failed, that is paused or resumed by itself, or that an annotation is about.
    public var stream: StreamName?
    /// Which samples were lost.
    public var gap: Gap?
    /// Why it failed.
    public var reason: String?
    /// How it went, at the end.
    public var report: SessionReport?

    /// What was noted.
    public var annotation: Annotation?

    /// An event of a session.
    public init(
        source: String, sequence: Int, session: String, date: WallTime, change: Change, status: String, step: String,
        stream: StreamName? = nil, gap: Gap? = nil, reason: String? = nil, report: SessionReport? = nil,
        annotation: Annotation? = nil
    ) {
        self.source = source
        self.sequence = sequence
        self.session = session
        self.date = date
        self.change = change
        self.status = status
        self.step = step
        self.stream = stream
        self.gap = gap
        self.reason = reason
        self.report = report
        self.annotation = annotation
    }

    /// Where it is published.
    public var topic: String { TopicArea.recording + session }
}
