/// What was found out about a device's steps: `steps.v1`, at each update of a subscription, when walking pauses and
/// resumes, when samples were lost, when a device appears, and when a subscription ends by itself.
public struct StepEvent: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "steps.v1"

    /// What kind of thing happened.
    public struct Change: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A subscription's total reached or passed the next multiple of its `updateOn`.
        public static let update = Change(rawValue: "update")
        /// A bout of walking ended: `date` is that of its last step.
        public static let pause = Change(rawValue: "pause")
        /// A bout of walking began: `date` is that of its first step.
        public static let resume = Change(rawValue: "resume")
        /// Samples were lost for good, and with them the steps that they had: `stream` and `gap` say which.
        public static let gap = Change(rawValue: "gap")
        /// A device that was not known is counted from now on, in `stream`.
        public static let appear = Change(rawValue: "appear")
        /// A subscription ended by itself, as it was not used for too long: it has its last total.
        public static let end = Change(rawValue: "end")
    }

    /// The schema that the body names.
    public private(set) var schema: String = StepEvent.schema
    /// The program that published it.
    public var source: String
    /// How many events of this topic the source published before.
    public var sequence: Int
    /// The device that the steps were made with.
    public var device: String
    /// What happened.
    public var change: Change
    /// When, on the device's clock; for an update when the number was determined.
    public var date: WallTime
    /// Which subscription an update is for.
    public var subscription: String?
    /// In an update: when the subscription began.
    public var startDate: WallTime?
    /// In an update: all steps since the subscription began, never those since the last update.
    public var numberOfSteps: Int?
    /// Steps a second; left out while nobody walks.
    public var cadence: Double?
    /// When the present bout of walking, or the one that ended, began.
    public var boutStart: WallTime?
    /// How likely the present bout of walking, or the one that ended, is walking, from 0 to 1.
    public var confidence: Double?
    /// In a pause: how the bout was walked. Left out if the program started in it.
    public var gait: GaitMeasures?
    /// In an update: metres since the subscription began, where the length of a stride (two steps) was configured.
    public var distance: Double?
    /// In an update: which part of the time from the subscription's start to `date` was counted, from 0 to 1.
    public var coverage: Double?
    /// In an update: what was not counted since the subscription's start, in order; at most the last 10 such times, and left
    /// out if there are none. They may have had steps that the total does not have.
    public var gaps: [UncountedTime]?
    /// The stream that lost samples, or that is counted from now on.
    public var stream: StreamName?
    /// Which samples were lost.
    public var gap: Gap?

    /// Something about steps.
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

    /// Where it is published.
    public var topic: String { TopicArea.steps + device }
}
