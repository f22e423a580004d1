/// How a session went: what was expected, what was had, what is missing and why. The contents of `report.json`.
public struct SessionReport: Codable, Hashable, Sendable {
    /// The session.
    public var session: String
    /// What the person did.
    public var task: String?
    /// The session's status at its end.
    public var status: String
    /// When it started, on the recorder's clock.
    public var startDate: WallTime
    /// When it ended.
    public var endDate: WallTime
    /// Whether no sample was lost.
    public var isWhole: Bool
    /// The streams, in the order in which they were met.
    public var streams: [Stream]
    /// Seconds from a sample's publication to its commit to disk (fdatasync).
    public var commitLatency: Latency
    /// What failed, where something did.
    public var failures: [String]
    /// When the recorder resumed the interrupted session.
    public var restarts: [WallTime]?
    /// How far the publishers' clocks were from the recorder's.
    public var clocks: [ClockOffset]?
    /// What people noted while it was recorded, corrections too; absent if they noted nothing.
    public var annotations: [Annotation]?
    /// What lost samples were filled in from after the session; absent if none were.
    public var fills: [Fill]?

    /// Lost samples that were filled in after the session, from what a device had recorded itself.
    public struct Fill: Codable, Hashable, Sendable {
        /// When they were filled in.
        public var date: WallTime
        /// The device whose samples they are.
        public var device: String
        /// The name of the file that they were taken from.
        public var source: String
        /// The SHA-256 of that file, in lower-case hexadecimal digits.
        public var sha256: String
        /// How many they are.
        public var samples: Int

        /// Samples that were filled in.
        public init(date: WallTime, device: String, source: String, sha256: String, samples: Int) {
            self.date = date
            self.device = device
            self.source = source
            self.sha256 = sha256
            self.samples = samples
        }
    }

    /// A session's report.
    public init(
        session: String, task: String?, status: String, startDate: WallTime, endDate: WallTime, streams: [Stream],
        commitLatency: Latency, failures: [String], restarts: [WallTime]? = nil, clocks: [ClockOffset]? = nil,
        annotations: [Annotation]? = nil
    ) {
        self.session = session
        self.task = task
        self.status = status
        self.startDate = startDate
        self.endDate = endDate
        isWhole = failures.isEmpty && streams.allSatisfy { $0.lost == 0 && $0.gaps.isEmpty }
        self.streams = streams
        self.commitLatency = commitLatency
        self.failures = failures
        self.restarts = restarts
        self.clocks = clocks
        self.annotations = annotations
    }

    /// How one stream went.
    public struct Stream: Codable, Hashable, Sendable {
        /// The stream.
        public var stream: StreamName
        /// Its log.
        public var log: String
        /// The log's files, under the session's directory.
        public var files: [String]
        /// Bytes of those files.
        public var bytes: Int
        /// Samples that belong to the session: written, paused and lost together.
        public var expected: Int
        /// Samples that arrived, in the first delivery or by replay.
        public var received: Int
        /// Of those, the ones that had to be asked for again.
        public var recovered: Int
        /// Samples that arrived more than once and were written once.
        public var duplicates: Int
        /// Samples that were lost, and not filled in later.
        public var lost: Int
        /// Lost samples that were filled in after the session; absent if none were.
        public var filled: Int?
        /// Samples left out because the session was paused.
        public var paused: Int
        /// The runs of lost samples.
        public var gaps: [Gap]
        /// Whether the publisher said where the stream stood when the session stopped; if not, samples after the last
        /// one received may exist.
        public var isEndKnown: Bool
        /// Samples per second as the publisher names it.
        public var nominalRate: Double?
        /// Samples per second over the samples' own times.
        public var actualRate: Double?
        /// The uptime of the first sample written, in seconds of the publisher's clock.
        public var firstUptime: Double?
        /// The uptime of the last sample written.
        public var lastUptime: Double?
        /// How far the time between two samples was from the nominal one, in seconds; nil if there is no nominal rate.
        public var jitter: Latency?
        /// The longest time between two samples, in seconds of the publisher's clock; pauses do not count.
        public var longestSilence: Double?
        /// The samples of each run of the publisher that belong to the session.
        public var epochs: [EpochSpan]?
        /// What the values of a stream of records are, by the name of their field; nil if all are numbers.
        public var types: [String: FieldType]?
        /// Whether its data were measured, replayed or simulated; nil if no publisher said.
        public var origin: DataOrigin?
        /// Files that the session's ring removed, which are among `files`; absent if it removed none.
        public var removedFiles: Int?
        /// Samples that were in them.
        public var removedSamples: Int?

        /// A stream's part of a report.
        public init(
            stream: StreamName, log: String, files: [String], bytes: Int, expected: Int, received: Int, recovered: Int,
            duplicates: Int, lost: Int, paused: Int, gaps: [Gap], isEndKnown: Bool, nominalRate: Double?,
            actualRate: Double?, firstUptime: Double?, lastUptime: Double?, jitter: Latency? = nil,
            longestSilence: Double? = nil, epochs: [EpochSpan]? = nil, types: [String: FieldType]? = nil,
            origin: DataOrigin? = nil
        ) {
            self.origin = origin
            self.stream = stream
            self.log = log
            self.files = files
            self.bytes = bytes
            self.expected = expected
            self.received = received
            self.recovered = recovered
            self.duplicates = duplicates
            self.lost = lost
            self.paused = paused
            self.gaps = gaps
            self.isEndKnown = isEndKnown
            self.nominalRate = nominalRate
            self.actualRate = actualRate
            self.firstUptime = firstUptime
            self.lastUptime = lastUptime
            self.jitter = jitter
            self.longestSilence = longestSilence
            self.epochs = epochs
            self.types = types
        }
    }

    /// The samples of one run of a publisher: `from` up to, but not including, `next`.
    public struct EpochSpan: Codable, Hashable, Sendable {
        /// The publisher's epoch.
        public var epoch: String
        /// Its first sample that belongs to the session.
        public var from: Int
        /// The sample after the last that belongs to the session.
        public var next: Int

        /// A run of samples.
        public init(epoch: String, from: Int, next: Int) {
            self.epoch = epoch
            self.from = from
            self.next = next
        }
    }

    /// How long something took, in seconds.
    public struct Latency: Codable, Hashable, Sendable {
        /// How often it was measured.
        public var count: Int
        /// Half of the measurements took no longer.
        public var median: Double
        /// 99 of 100 took no longer.
        public var p99: Double
        /// The longest.
        public var maximum: Double
        /// How many took at most how long, by growing bounds; nil if that was not counted.
        public var buckets: [Bucket]?

        /// How many measurements took at most so many seconds: those of the buckets before are among them.
        public struct Bucket: Codable, Hashable, Sendable {
            /// The longest that counts, in seconds.
            public var bound: Double
            /// How many took no longer.
            public var count: Int

            /// A count of measurements.
            public init(bound: Double, count: Int) {
                self.bound = bound
                self.count = count
            }
        }

        /// Measured times.
        public init(count: Int, median: Double, p99: Double, maximum: Double, buckets: [Bucket]? = nil) {
            self.count = count
            self.median = median
            self.p99 = p99
            self.maximum = maximum
            self.buckets = buckets
        }
    }
}
