/// A change in a device's steps: `steps.v1`, published at each update of a subscription, when walking pauses or resumes, when
/// samples are lost, when a device appears, and when a subscription expires.
public struct StepEvent: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "steps.v1"

    /// The kind of change.
    public struct Change: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A subscription's total reached or passed the next multiple of its `updateOn`.
        public static let update = Change(rawValue: "update")
        /// A bout of walking ended; `date` is the time of its last step.
        public static let pause = Change(rawValue: "pause")
        /// A bout of walking began; `date` is the time of its first step.
        public static let resume = Change(rawValue: "resume")
        /// Samples were lost for good, and so were the steps in them; `stream` and `gap` identify them.
        public static let gap = Change(rawValue: "gap")
        /// A new device is counted from now on, in `stream`.
        public static let appear = Change(rawValue: "appear")
        /// A subscription expired because no client renewed it; the event has its last total.
        public static let end = Change(rawValue: "end")
    }

    /// The schema that the body names.
    public private(set) var schema: String = StepEvent.schema
    /// The publishing program's name.
    public var source: String
    /// The number of earlier events on this topic.
    public var sequence: Int
    /// The device whose samples are counted.
    public var device: String
    /// The kind of change.
    public var change: Change
    /// When it happened, on the device's clock; for an update, when the total was determined.
    public var date: WallTime
    /// In an update: the subscription's identifier.
    public var subscription: String?
    /// In an update: when the subscription began.
    public var startDate: WallTime?
    /// In an update: all steps since the subscription began, not only those since the last update.
    public var numberOfSteps: Int?
    /// Steps per second; absent between bouts of walking.
    public var cadence: Double?
    /// When the current bout of walking, or the one that just ended, began.
    public var boutStart: WallTime?
    /// The probability that the current bout, or the one that just ended, is walking, from 0 to 1.
    public var confidence: Double?
    /// In a pause: measures of the bout. Absent if the program started in it.
    public var gait: GaitMeasures?
    /// In an update: metres since the subscription began, if the length of a stride (two steps) is configured.
    public var distance: Double?
    /// In an update: the fraction of the time from the subscription's start to `date` that was counted, from 0 to 1; absent after
    /// about a hundred interruptions, because only the latest counted times are remembered.
    public var coverage: Double?
    /// In an update: times since the subscription's start that were not counted, in order, at most the last 10; absent if there
    /// are none. The steps in them are not in the total.
    public var gaps: [UncountedTime]?
    /// The stream that lost samples, or that is counted from now on.
    public var stream: StreamName?
    /// The lost samples.
    public var gap: Gap?

    /// Creates an event.
    public init(
        source: String, sequence: Int, device: String, change: Change, date: WallTime, subscription: String? = nil,
        startDate: WallTime? = nil, numberOfSteps: Int? = nil, cadence: Double? = nil, boutStart: WallTime? = nil,
        distance: Double? = nil, coverage: Double? = nil, gaps: [UncountedTime]? = nil, stream: StreamName? = nil,
        gap: Gap? = nil, confidence: Double? = nil, gait: GaitMeasures? = nil
    ) {
        self.source = source
        self.sequence = sequence
        self.device = device
        self.change = change
        self.date = date
        self.subscription = subscription
        self.startDate = startDate
        self.numberOfSteps = numberOfSteps
        self.cadence = cadence
        self.boutStart = boutStart
        self.confidence = confidence
        self.gait = gait
        self.distance = distance
        self.coverage = coverage
        self.gaps = gaps
        self.stream = stream
        self.gap = gap
    }

    /// `steps/<device>`.
    public var topic: String { TopicArea.steps + device }
}
