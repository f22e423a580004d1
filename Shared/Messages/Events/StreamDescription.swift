/// The columns, clock and progress of a stream: `stream.v1`, published each second and on a change.
///
/// A late subscriber learns from it which samples it missed, and a subscriber that lost the last batch notices.
public struct StreamDescription: Event, Hashable {
    /// The schema's name with its version.
    public static let schema = "stream.v1"

    /// Whether samples are being taken.
    public struct State: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Not started yet.
        public static let idle = State(rawValue: "idle")
        /// The publisher is sampling.
        public static let running = State(rawValue: "running")
        /// Stopped by a request.
        public static let stopped = State(rawValue: "stopped")
        /// The source gave its last sample.
        public static let ended = State(rawValue: "ended")
        /// The source failed; `reason` has the error.
        public static let failed = State(rawValue: "failed")
    }

    /// The schema that the body names.
    public private(set) var schema: String = StreamDescription.schema
    /// The publishing program's name.
    public var source: String
    /// The number of earlier events on this topic.
    public var sequence: Int
    /// The device that samples.
    public var device: String
    /// The name of the stream on that device.
    public var stream: String
    /// A UUID, new at every start of the publisher.
    public var epoch: String
    /// Whether samples are being taken.
    public var state: State
    /// The names of a sample's columns: `uptime` first.
    public var fields: [String]
    /// The type of each column; absent if all are numbers.
    public var types: [FieldType]?
    /// The unit of the columns after `uptime`, if they have one: `g`, `m/s2`.
    public var unit: String?
    /// The configured samples per second, if the source has a rate.
    public var rate: Double?
    /// Whether batches carry a Float64 matrix as their fourth frame.
    public var packed: Bool
    /// The sequence that the next published sample will have: the number of samples in this epoch, if it began with 0.
    public var nextSequence: Int
    /// The sequence of the epoch's first sample. Absent if it is 0: a device that numbers its samples may have begun earlier.
    public var first: Int?
    /// The REP endpoint that answers `samples.replay` for this stream.
    public var replay: String
    /// Converts uptime to wall time.
    public var clock: ClockReading
    /// A description of the source, for people.
    public var description: String?
    /// The known truth of a simulated signal, such as the steps of a walk.
    public var truth: SignalTruth?
    /// Why the state is `failed`.
    public var reason: String?
    /// When the latest sample was taken, in seconds on the clock of `clock.uptime`; includes samples whose batch is not full
    /// yet. If it stays behind `rate`, the source has fallen silent. Absent before the first sample.
    public var lastSample: Double?
    /// How many seconds the publisher keeps a sample for `samples.replay`: less than configured if the memory for all streams
    /// runs out earlier. Absent if unknown or unlimited.
    public var retention: Double?
    /// Whether the data are measured, replayed or simulated. Absent if the publisher does not report it.
    public var origin: DataOrigin?
    /// How far the device's clock was ahead at the last comparison. Absent if the times are of the publisher's clock.
    public var remoteClock: RemoteClock?
    /// True in the last description before the publisher shuts down in order: `nextSequence` is then the epoch's final sample
    /// count.
    public var over: Bool?

    /// Creates a description.
    public init(
        source: String, sequence: Int, device: String, stream: String, epoch: String, state: State, fields: [String],
        types: [FieldType]? = nil, unit: String? = nil, rate: Double? = nil, packed: Bool, nextSequence: Int,
        replay: String,
        clock: ClockReading, description: String? = nil, truth: SignalTruth? = nil, reason: String? = nil,
        lastSample: Double? = nil, retention: Double? = nil, origin: DataOrigin? = nil, over: Bool? = nil,
        remoteClock: RemoteClock? = nil, first: Int? = nil
    ) {
        self.first = first
        self.remoteClock = remoteClock
        self.over = over
        self.origin = origin
        self.source = source
        self.sequence = sequence
        self.device = device
        self.stream = stream
        self.epoch = epoch
        self.state = state
        self.fields = fields
        self.types = types
        self.unit = unit
        self.rate = rate
        self.packed = packed
        self.nextSequence = nextSequence
        self.replay = replay
        self.clock = clock
        self.description = description
        self.truth = truth
        self.reason = reason
        self.lastSample = lastSample
        self.retention = retention
    }

    /// The stream's full name.
    public var name: StreamName { StreamName(device: device, stream: stream) }

    /// `stream/<device>/<stream>`.
    public var topic: String { TopicArea.stream + name.description }

    package var mayRun: Bool { state == .running && over != true }
}

/// What is known about a simulated walk, to score a step counter on it.
public struct SignalTruth: Codable, Hashable, Sendable {
    /// Steps in the samples published so far.
    public var steps: Int
    /// Steps per second while walking.
    public var cadence: Double

    /// Creates the truth of a walk.
    public init(steps: Int, cadence: Double) {
        self.steps = steps
        self.cadence = cadence
    }
}
