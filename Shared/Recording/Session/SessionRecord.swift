package import Messages

/// What is known of a session besides its samples: what was asked, how it stands, what is where. The contents of
/// `session.json`.
///
/// Dates are ISO 8601, in UTC.
package struct SessionRecord: Codable, Hashable, Sendable {
    package static let schema = "session.v1"

    package private(set) var schema = SessionRecord.schema
    package var session: SessionIdentifier
    /// What the person does: the first part of each step path. May be empty.
    package var task: String
    /// The step that the session started with. May be empty.
    package var step: String
    /// The streams asked for: `phone/accelerometer`, or `left-wrist/` for all of a device.
    package var streams: [String]
    /// Those of them that are recorded in some steps alone.
    package var choices: [StreamChoice]?
    package var format: LogFormat
    /// Whether nobody asked for that format, so that a log may have one of its own; `nil` if somebody did.
    package var isFormatDefault: Bool?
    /// What holds the records of JSON logs.
    package var root: JSONRoot
    package var status: SessionStatus
    /// The part of the devices that its recorder takes, where several recorders split them.
    package var shard: Shard?
    package var startDate: WallTime
    package var endDate: WallTime?
    /// Each step that the session moved on to, in order.
    package var steps: [Step] = []
    package var pauses: [Pause] = []
    package var logs: [Log] = []
    package var limits: Limits
    /// When the recorder resumed the interrupted session, in order.
    package var restarts: [WallTime] = []
    /// What went wrong, besides lost samples.
    package var failures: [String] = []
    /// How far the publishers' clocks were from the recorder's, in the order measured.
    package var clocks: [ClockComparison] = []
    /// What was answered in it, as it was given with `recording.stop`; see `TaskResults`.
    package var results: JSONValue?
    /// What people noted while it was recorded, in the order in which it arrived; `annotations.ndjson` has what came later. In
    /// the write-ahead log, only those that it does not have already.
    package var annotations: [Annotation]?
    /// Times whose files the ring does not remove, in order, apart from each other.
    package var kept: [KeptTime]?
    /// What was filled into its gaps after it was over, in order.
    package var fills: [Fill]?
    /// What else belongs to it, as it was given with `recording.start`.
    package var keys: JSONValue?
    /// How far the recorder's write-ahead log is in here and in the files; `nil` once the session is over, and in one
    /// that was recorded by 0.6 or before.
    package var logPosition: LogPosition?

    package init(
        session: SessionIdentifier, task: String, step: String, streams: [String], format: LogFormat, root: JSONRoot,
        status: SessionStatus, startDate: WallTime, limits: Limits = Limits(), shard: Shard? = nil
    ) {
        self.session = session
        self.task = task
        self.step = step
        self.streams = streams
        self.format = format
        self.root = root
        self.status = status
        self.startDate = startDate
        self.limits = limits
        self.shard = shard
    }

    /// What else belongs to it, by key.
    package var otherKeys: [String: JSONValue] {
        if case .object(let keys) = keys { keys } else { [:] }
    }

    /// Notes what went wrong: a full disk, say, has each file fail with the same words.
    /// - Returns: whether anything was not known yet.
    @discardableResult
    package mutating func note(failures reasons: [String]) -> Bool {
        let known = Set(failures)
        let new = reasons.filter { !known.contains($0) }
        failures += new
        return !new.isEmpty
    }

    package func format(of log: Log) -> LogFormat { log.format ?? format }

    /// Its steps and pauses, in order. Those of one time stand in the order in which they are taken.
    package var changes: [Change] {
        var changes = steps.map { Change(event: .step, timestamp: $0.timestamp, step: $0.step) }
        for pause in pauses {
            changes.append(Change(event: .pause, timestamp: pause.from, stream: pause.stream))
            if let end = pause.to {
                changes.append(Change(event: .resume, timestamp: end, stream: pause.stream))
            }
        }
        return changes.enumerated().sorted { ($0.element.timestamp, $0.offset) < ($1.element.timestamp, $1.offset) }
            .map(\.element)
    }

    /// Another step, or the beginning or end of a pause.
    package struct Change: Hashable, Sendable {
        package var event: Marker.Event
        /// Seconds since the session's start.
        package var timestamp: Double
        package var step: String?
        /// The stream that is paused or resumed; `nil` for all.
        package var stream: StreamName?

        package init(event: Marker.Event, timestamp: Double, step: String? = nil, stream: StreamName? = nil) {
            self.event = event
            self.timestamp = timestamp
            self.step = step
            self.stream = stream
        }
    }

    package struct Step: Codable, Hashable, Sendable {
        package var date: WallTime
        /// Seconds since the session's start.
        package var timestamp: Double
        package var step: String

        package init(date: WallTime, timestamp: Double, step: String) {
            self.date = date
            self.timestamp = timestamp
            self.step = step
        }
    }

    package struct Pause: Codable, Hashable, Sendable {
        /// Its beginning, in seconds since the session's start.
        package var from: Double
        /// Its end; `nil` while it lasts, and if the session was stopped in it.
        package var to: Double?
        /// The only stream that is paused; `nil` for all.
        package var stream: StreamName?

        package init(from: Double, to: Double? = nil, stream: StreamName? = nil) {
            self.from = from
            self.to = to
            self.stream = stream
        }
    }

    package struct Log: Codable, Hashable, Sendable {
        package var name: LogName
        package var device: String
        package var stream: String
        /// Its own format; `nil` if it has the session's.
        package var format: LogFormat?
        /// Bytes after which it continues in a new file, if the session does not say that.
        package var maximumFileSize: Int?
        /// Seconds after which it continues in a new file, if the session does not say that.
        package var maximumFileAge: Double?
        /// The columns of a sample on the wire; the first is `uptime`.
        package var fields: [String]
        /// What their values are, a word for each; `nil` if all are numbers.
        package var types: [FieldType]?
        /// The unit of the columns after `uptime`, where it is one.
        package var unit: String?
        /// The publisher's epochs that were met, in order.
        package var epochs: [Epoch]
        /// The file being written; `nil` when the log is closed.
        package var file: String?
        package var fileDate: WallTime?
        package var files: [FinishedFile]
        /// Samples per second as the publisher names it.
        package var rate: Double?
        /// For a stream that was met after the session's start: samples of its first epoch from before this uptime, in
        /// seconds, are left out.
        package var earliestUptime: Double?
        /// Runs of the publisher that had ended when the session began.
        package var ended: [String]?
        /// Samples that were lost, in the order in which that was found. Those that were filled in are none of them.
        package var gaps: [Gap] = []
        /// Files with samples that were filled in after the session, in the order of the fills.
        package var fills: [FilledFile]?
        /// What became of the samples, when this was stored last.
        package var counts = StreamCounts()
        /// The uptime of the first sample written, in seconds of the publisher's clock.
        package var firstUptime: Double?
        /// The uptime of the last sample written, when this was stored last.
        package var lastUptime: Double?
        /// Whether the publisher said where the stream stood when the session stopped.
        package var isEndKnown = false
        /// How regularly the samples were taken, when this was stored last.
        package var intervals: IntervalStatistics?
        /// Up to where its files are durable, while the session runs.
        package var durable: DurablePlace?
        /// Whether the session's stop was its last record, when this was stored last.
        package var isMarkedStopped: Bool?

        /// Whether its data are measured, replayed or simulated, in all runs of its publisher together; `nil` if none of them
        /// says so.
        package var origin: DataOrigin? { DataOrigin(of: epochs.map(\.origin)) }

        package init(
            name: LogName, device: String, stream: String, fields: [String], types: [FieldType]? = nil,
            unit: String? = nil, rate: Double? = nil, epochs: [Epoch] = [], file: String? = nil,
            fileDate: WallTime? = nil, files: [FinishedFile] = []
        ) {
            self.name = name
            self.device = device
            self.stream = stream
            self.fields = fields
            self.types = types
            self.unit = unit
            self.rate = rate
            self.epochs = epochs
            self.file = file
            self.fileDate = fileDate
            self.files = files
        }
    }

    package struct Epoch: Codable, Hashable, Sendable {
        package var epoch: String
        /// The first clock reading that was seen: how its uptimes turn into wall time.
        package var clock: ClockReading
        /// Where its samples can be asked for.
        package var replay: String
        /// The first of its samples that belongs to the session.
        package var from: Int
        /// The sample after the last that was taken or given up, when this was stored last.
        package var next: Int
        /// The first sample that does not belong to the session any more, once it is known.
        package var end: Int?
        /// Whether its data are measured, replayed or simulated, if the publisher says so.
        package var origin: DataOrigin?
        /// What is known of a device with a clock of its own, whose times the publisher turned into uptimes.
        package var remote: Remote?
        /// When the publisher described it last, on the recorder's clock.
        package var heard: WallTime
        /// When the publisher's machine slept, where the publisher says so.
        package var sleeps: UptimeClock?
        /// Whether it may have ended unheard, and no gap says so yet.
        package var isUnseen: Bool?
        /// Whether its publisher said with its last description that it ended.
        package var isOver: Bool?
        /// Whether it came from a relay, which still answers for runs that are over.
        package var isRelayed: Bool?
        /// Whether it is over, and a relay is to be asked how far it came.
        package var isEndUnknown: Bool?

        package init(
            epoch: String, clock: ClockReading, replay: String, from: Int = 0, next: Int = 0, end: Int? = nil,
            heard: WallTime? = nil, sleeps: UptimeClock? = nil
        ) {
            self.epoch = epoch
            self.clock = clock
            self.replay = replay
            self.from = from
            self.next = next
            self.end = end
            self.heard = heard ?? clock.date
            self.sleeps = sleeps
        }
    }

    /// A device with a clock of its own, as the publisher describes it.
    package struct Remote: Codable, Hashable, Sendable {
        /// What it is: for LSL with the outlet's `desc`.
        package var description: String?
        /// How far its clock was ahead of the publisher's, when that was first heard of and when this was stored last.
        package var first: RemoteClock
        package var last: RemoteClock

        package init(description: String?, first: RemoteClock, last: RemoteClock) {
            self.description = description
            self.first = first
            self.last = last
        }
    }

    package struct Limits: Codable, Hashable, Sendable {
        /// Bytes after which a log continues in a new file.
        package var maximumFileSize: Int?
        /// Seconds after which a log continues in a new file.
        package var maximumFileAge: Double?
        /// Seconds after which the session stops.
        package var duration: Double?
        /// Seconds for which it waits for results then.
        package var resultsWithin: Double?
        /// Seconds from its start to when it was asked for.
        package var before: Double?
        /// Seconds after which finished files are removed that are not kept.
        package var keep: Double?

        package init(
            maximumFileSize: Int? = nil, maximumFileAge: Double? = nil, duration: Double? = nil,
            resultsWithin: Double? = nil, before: Double? = nil, keep: Double? = nil
        ) {
            self.keep = keep
            self.before = before
            self.resultsWithin = resultsWithin
            self.maximumFileSize = maximumFileSize
            self.maximumFileAge = maximumFileAge
            self.duration = duration
        }
    }
}
