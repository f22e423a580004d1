/// What a stream is and how far it has come: `stream.v1`, published each second and on a change.
///
/// A subscriber that joins late learns from it what it missed, and one that lost the last batch notices.
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
        /// Samples are taken.
        public static let running = State(rawValue: "running")
        /// Stopped by a request.
        public static let stopped = State(rawValue: "stopped")
        /// The source gave its last sample.
        public static let ended = State(rawValue: "ended")
        /// The source broke; `reason` says how.
        public static let failed = State(rawValue: "failed")
    }

    /// The schema that the body names.
    public private(set) var schema: String = StreamDescription.schema
    /// The program that published it.
    public var source: String
    /// How many events of this topic the source published before.
    public var sequence: Int
    /// The device that samples.
    public var device: String
    /// The stream of that device.
    public var stream: String
    /// A UUID, new at every start of the publisher.
    public var epoch: String
    /// Whether samples are being taken.
    public var state: State
    /// The columns of a sample: `uptime` first.
    public var fields: [String]
    /// What the values of the columns are, a word for each; absent if all are numbers.
    public var types: [FieldType]?
    /// The unit of the columns after `uptime`, where it is one: `g`, `m/s2`.
    public var unit: String?
    /// Samples per second as asked, where the source has a rate.
    public var rate: Double?
    /// Whether batches carry a Float64 matrix as their fourth frame.
    public var packed: Bool
    /// The sequence that the next published sample will have: how many this epoch has published, if it began with 0.
    public var nextSequence: Int
    /// The sequence of the epoch's first sample. Absent if that is 0: a device that numbers its samples may have begun earlier.
    public var first: Int?
    /// The REP endpoint that answers `samples.replay` for this stream.
    public var replay: String
    /// How uptime turns into wall time.
    public var clock: ClockReading
    /// What the source is, for people.
    public var description: String?
    /// What is known to be true of a made signal: the times of a walk's steps, say.
    public var truth: SignalTruth?
    /// Why the state is `failed`.
    public var reason: String?
    /// When the latest sample was taken, in seconds on the clock of `clock.uptime`, also one that waits for its batch to
    /// fill: a source whose `lastSample` stays behind its `rate` has fallen silent. Absent before the first.
    public var lastSample: Double?
    /// How many seconds a sample is kept for `samples.replay`: less than configured if the memory for all streams runs out
    /// earlier. Absent if it is unknown or unlimited.
    public var retention: Double?
    /// Whether the data are measured, replayed or simulated. Absent if the publisher does not say.
    public var origin: DataOrigin?
    /// How far the clock of the device was ahead when it was last compared. Absent if the times are of the publisher's clock.
    public var remoteClock: RemoteClock?
    /// True in the last description before the publisher ends in good order: `nextSequence` is how many samples its epoch has in all.
    public var over: Bool?

    /// A description with all that must be said.
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

    /// Where it is published.
    public var topic: String { TopicArea.stream + name.description }

    /// Whether its publisher samples.
    package var mayRun: Bool { state == .running && over != true }
}

/// What is known to be true of a made walk, so that a step counter can be scored on it.
public struct SignalTruth: Codable, Hashable, Sendable {
    /// Steps made in the samples published so far.
    public var steps: Int
    /// Steps per second while walking.
    public var cadence: Double

    /// A walk's truth so far.
    public init(steps: Int, cadence: Double) {
        self.steps = steps
        self.cadence = cadence
    }
}
