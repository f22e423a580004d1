/// A change to a recording: `recording.v1`, published at each change of status, step or pause, each gap and failure, and once
/// with the report.
public struct RecordingEvent: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "recording.v1"

    /// The kind of change.
    public struct Change: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The status advanced, or the session's end was postponed.
        public static let status = Change(rawValue: "status")
        /// The step changed.
        public static let step = Change(rawValue: "step")
        /// Samples are not written from here on.
        public static let pause = Change(rawValue: "pause")
        /// Samples are written again.
        public static let resume = Change(rawValue: "resume")
        /// The recorder restarted and resumed the session.
        public static let restart = Change(rawValue: "restart")
        /// Samples were lost for good; `gap` has their range and the cause.
        public static let gap = Change(rawValue: "gap")
        /// Something failed; `reason` has the error. If a sensor failed, `stream` names it and the recording continues;
        /// otherwise the recording failed.
        public static let failure = Change(rawValue: "failure")
        /// The recording is over; `report` has the results.
        public static let report = Change(rawValue: "report")
        /// An annotation was added, possibly after the end; `annotation` has it.
        public static let annotation = Change(rawValue: "annotation")
        /// Nothing changed: published each second while the session runs, for late subscribers.
        public static let current = Change(rawValue: "current")
        /// The recording was discarded; only a line in `recordings/discarded.ndjson` is left.
        public static let discard = Change(rawValue: "discard")
    }

    /// The schema that the body names.
    public private(set) var schema: String = RecordingEvent.schema
    /// The publishing program's name.
    public var source: String
    /// The number of earlier events on this topic.
    public var sequence: Int
    /// The recording's session name.
    public var session: String
    /// When it happened, on the recorder's clock.
    public var date: WallTime
    /// The kind of change.
    public var change: Change
    /// The status after the change.
    public var status: String
    /// The step path after the change.
    public var step: String
    /// The stream that lost samples, that failed, that alone is paused or resumed, or that an annotation concerns.
    public var stream: StreamName?
    /// The lost samples.
    public var gap: Gap?
    /// The cause of the failure.
    public var reason: String?
    /// The report, at the end.
    public var report: SessionReport?

    /// The added annotation.
    public var annotation: Annotation?

    /// Creates an event.
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

    /// The event's topic.
    public var topic: String { TopicArea.recording + session }
}
