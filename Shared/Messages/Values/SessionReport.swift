/// A session's report, the contents of `report.json`: samples expected and received, and what is missing and why.
public struct SessionReport: Codable, Hashable, Sendable {
    /// The session's name.
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
    /// The streams, in the order in which the recorder met them.
    public var streams: [Stream]
    /// Seconds from a sample's publication to its commit to disk (fdatasync).
    public var commitLatency: Latency
    /// Errors during the session.
    public var failures: [String]
    /// When the recorder resumed the session after interruptions.
    public var restarts: [WallTime]?
    /// The offsets of the publishers' clocks from the recorder's.
    public var clocks: [ClockOffset]?
    /// Annotations made during the recording, corrections included; absent if there are none.
    public var annotations: [Annotation]?
    /// Lost samples that were filled in after the session, by source; absent if there are none.
    public var fills: [Fill]?

    /// Lost samples that were filled in after the session, from a device's own recording.
    public struct Fill: Codable, Hashable, Sendable {
        /// When they were filled in.
        public var date: WallTime
        /// The device that took the samples.
        public var device: String
        /// The name of the file with the samples.
        public var source: String
        /// SHA-256 of that file, in lower-case hexadecimal.
        public var sha256: String
        /// The number of samples.
        public var samples: Int

        /// Creates a fill.
        public init(date: WallTime, device: String, source: String, sha256: String, samples: Int) {
            self.date = date
            self.device = device
            self.source = source
            self.sha256 = sha256
            self.samples = samples
        }
    }

    /// Creates a report; `isWhole` follows from `failures` and `streams`.
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

    /// The report of one stream.
    public struct Stream: Codable, Hashable, Sendable {
        /// The stream.
        public var stream: StreamName
        /// The name of the stream's log.
        public var log: String
        /// The log's files, relative to the session's directory.
        public var files: [String]
        /// The total size of those files.
        public var bytes: Int
        /// Samples that belong to the session: written, paused and lost together.
        public var expected: Int
        /// Samples that arrived, in the first delivery or by replay.
        public var received: Int
        /// Received samples that had to be replayed.
        public var recovered: Int
        /// Samples that arrived more than once and were written once.
        public var duplicates: Int
        /// Samples that were lost, and not filled in later.
        public var lost: Int
        /// Lost samples that were filled in after the session; absent if none were.
        public var filled: Int?
        /// Samples left out because of a pause, or of the stream's steps.
        public var paused: Int
        /// The runs of lost samples.
        public var gaps: [Gap]
        /// Whether the publisher reported the stream's position when the session stopped; if not, samples after the last one
        /// received may exist.
        public var isEndKnown: Bool
        /// Samples per second, as the publisher describes the stream.
        public var nominalRate: Double?
        /// Samples per second, computed from the samples' own times; nil if these are uptimes of several boots or
        /// machines, which can't be compared.
        public var actualRate: Double?
        /// The uptime of the first sample written, in seconds of the publisher's clock.
        public var firstUptime: Double?
        /// The uptime of the last sample written.
        public var lastUptime: Double?
        /// Deviations of the time between two samples from the nominal one, in seconds; nil if there is no nominal rate.
        public var jitter: Latency?
        /// The longest time between two samples, in seconds of the publisher's clock; pauses do not count.
        public var longestSilence: Double?
        /// The samples of each epoch that belong to the session.
        public var epochs: [EpochSpan]?
        /// The types of the fields, by field name, in a stream of records; nil if all are numbers.
        public var types: [String: FieldType]?
        /// Whether the data were measured, replayed or simulated; nil if no publisher reported it.
        public var origin: DataOrigin?
        /// The number of `files` that the session's ring removed; absent if none.
        public var removedFiles: Int?
        /// The samples in those files.
        public var removedSamples: Int?

        /// Creates the report of a stream.
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

    /// The samples of one epoch: `from` up to, but not including, `next`.
    public struct EpochSpan: Codable, Hashable, Sendable {
        /// The publisher's epoch.
        public var epoch: String
        /// The first sample of the epoch that belongs to the session.
        public var from: Int
        /// The sample after the last one that belongs to the session.
        public var next: Int

        /// Creates a span.
        public init(epoch: String, from: Int, next: Int) {
            self.epoch = epoch
            self.from = from
            self.next = next
        }
    }

    /// The distribution of measured durations, in seconds.
    public struct Latency: Codable, Hashable, Sendable {
        /// The number of measurements.
        public var count: Int
        /// The median.
        public var median: Double
        /// The 99th percentile.
        public var p99: Double
        /// The longest.
        public var maximum: Double
        /// Cumulative counts by ascending bounds; nil if they were not counted.
        public var buckets: [Bucket]?

        /// The number of measurements of at most `bound` seconds, which includes those of earlier buckets.
        public struct Bucket: Codable, Hashable, Sendable {
            /// The upper bound, inclusive, in seconds.
            public var bound: Double
            /// The number of measurements up to the bound.
            public var count: Int

            /// Creates a bucket.
            public init(bound: Double, count: Int) {
                self.bound = bound
                self.count = count
            }
        }

        /// Creates a distribution.
        public init(count: Int, median: Double, p99: Double, maximum: Double, buckets: [Bucket]? = nil) {
            self.count = count
            self.median = median
            self.p99 = p99
            self.maximum = maximum
            self.buckets = buckets
        }
    }
}
