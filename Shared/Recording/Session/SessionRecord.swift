package import Messages

/// Everything about a session except its samples: its request, its status, and its files. The contents of `session.json`.
///
/// Dates are ISO 8601, in UTC.
package struct SessionRecord: Codable, Hashable, Sendable {
    package static let schema = "session.v1"

    package private(set) var schema = SessionRecord.schema
    package var session: SessionIdentifier
    /// The person's task: the first part of each step path. May be empty.
    package var task: String
    /// The step that the session started with. May be empty.
    package var step: String
    /// The requested streams: `phone/accelerometer`, or `left-wrist/` for all of a device.
    package var streams: [String]
    /// The requested streams that are recorded only in some steps.
    package var choices: [StreamChoice]?
    package var format: LogFormat
    /// Whether the request named no format, so that a log may have one of its own; `nil` if it did.
    package var isFormatDefault: Bool?
    /// The container of the records in JSON logs.
    package var root: JSONRoot
    package var status: SessionStatus
    /// The devices that the session's recorder records, if several recorders split them.
    package var shard: Shard?
    package var startDate: WallTime
    package var endDate: WallTime?
    /// Each step that the session changed to, in order.
    package var steps: [Step] = []
    package var pauses: [Pause] = []
    package var logs: [Log] = []
    package var limits: Limits
    /// When the recorder resumed the interrupted session, in order.
    package var restarts: [WallTime] = []
    /// Seconds by which the recorder's clock was set forward during the session, as last noted. Steps, pauses, annotations,
    /// restarts, the end and clock readings have times as if the clock had not been set.
    package var clockSet: Double?
    /// The same in nanoseconds; 0 if the clock was not set.
    package var clockAhead: Int64 { Int64(nanosecondsIn: clockSet ?? 0) }
    /// Until when the session waits for results after its duration has passed.
    package var resultsUntil: WallTime?
    /// Failures other than lost samples.
    package var failures: [String] = []
    /// Offsets of the publishers' clocks from the recorder's, in the order measured. In the write-ahead log, only those that the
    /// log does not have yet.
    package var clocks: [ClockComparison] = []
    /// The results, as given to `recording.stop`; see `TaskResults`.
    package var results: JSONValue?
    /// Annotations that arrived during the recording, in order of arrival; `annotations.ndjson` has later ones. In the
    /// write-ahead log, only those that the log does not have yet.
    package var annotations: [Annotation]?
    /// Time ranges whose files the ring does not remove, in order, without overlaps.
    package var kept: [KeptTime]?
    /// Fills of the session's gaps after its end, in order.
    package var fills: [Fill]?
    /// Other keys of the session, as given to `recording.start`.
    package var keys: JSONValue?
    /// Up to where this record and the files include the recorder's write-ahead log; `nil` once the session is over, and for a
    /// session recorded by version 0.6 or earlier.
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

    package var otherKeys: [String: JSONValue] {
        if case .object(let keys) = keys { keys } else { [:] }
    }

    /// Adds failures, each once: a full disk, for example, makes every file fail with the same words.
    /// - Returns: whether there was a new one.
    @discardableResult
    package mutating func note(failures reasons: [String]) -> Bool {
        let known = Set(failures)
        let new = reasons.filter { !known.contains($0) }
        failures += new
        return !new.isEmpty
    }

    package func format(of log: Log) -> LogFormat { log.format ?? format }

    /// The session's steps and pauses, in order. Changes of the same time have the order in which they are applied.
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
        /// The beginning, in seconds since the session's start.
        package var from: Double
        /// The end, in seconds since the session's start; `nil` while the pause lasts, and if the session was stopped in it.
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
        /// The log's own format; `nil` if it has the session's.
        package var format: LogFormat?
        /// Bytes after which a file is rotated, if the session has no such limit.
        package var maximumFileSize: Int?
        /// Seconds after which a file is rotated, if the session has no such limit.
        package var maximumFileAge: Double?
        /// The columns of a sample on the wire; the first is `uptime`.
        package var fields: [String]
        /// The types of the columns' values; `nil` if all are numbers.
        package var types: [FieldType]?
        /// The unit of the columns after `uptime` when the log was begun, if all have the same. An epoch may have another.
        package var unit: String?
        /// The publisher's epochs that were met, in order.
        package var epochs: [Epoch]
        /// The file being written; `nil` when the log is closed.
        package var file: String?
        package var fileDate: WallTime?
        package var files: [FinishedFile]
        /// Samples per second, as the publisher stated when the log was begun. An epoch may have another rate.
        package var rate: Double?
        /// For a stream that was met after the session's start: samples of its first epoch from before this uptime, in
        /// seconds, are left out.
        package var earliestUptime: Double?
        /// Runs of the publisher that had ended when the session began.
        package var ended: [String]?
        /// Lost samples, in the order in which the losses were found. Samples that were filled in are not included.
        package var gaps: [Gap] = []
        /// Files with samples that were filled in after the session, in the order of the fills.
        package var fills: [FilledFile]?
        /// The numbers of samples by what happened to them, when this was last stored.
        package var counts = StreamCounts()
        /// The uptime of the first sample written, in seconds of the publisher's clock.
        package var firstUptime: Double?
        /// The uptime of the last sample written, when this was last stored.
        package var lastUptime: Double?
        /// Whether the publisher reported the stream's position when the session stopped.
        package var isEndKnown = false
        /// How regularly the samples were taken, when this was last stored.
        package var intervals: IntervalStatistics?
        /// Up to where the files are durable, while the session runs.
        package var durable: DurablePlace?
        /// Whether the marker of the session's stop was the last record, when this was last stored.
        package var isMarkedStopped: Bool?

        /// Whether the data are measured, replayed or simulated, over all runs of the publisher; `nil` if it reported nothing.
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
        /// The first clock reading that was received: it relates the epoch's uptimes to wall time.
        package var clock: ClockReading
        /// The address that replays the epoch's samples.
        package var replay: String
        /// Whether that is the address of the epoch before, because no publisher has described this one yet.
        package var isReplayGuessed: Bool?
        /// The first sample of the epoch that belongs to the session.
        package var from: Int
        /// The sample after the last one that was taken or given up, when this was last stored.
        package var next: Int
        /// The first sample after the session's end, once it is known.
        package var end: Int?
        /// The unit, if the publisher states another one than the log's.
        package var unit: String?
        /// Samples per second, if the publisher states a rate that differs from the log's by more than a tenth.
        package var rate: Double?
        /// Whether the data are measured, replayed or simulated, if the publisher reports it.
        package var origin: DataOrigin?
        /// The device, if it has a clock of its own whose times the publisher turned into uptimes.
        package var remote: Remote?
        /// When the publisher last described the stream, on the recorder's clock.
        package var heard: WallTime
        /// When the publisher's machine slept, if the publisher reports it.
        package var sleeps: UptimeClock?
        /// Whether the epoch may have ended unheard, and no gap marks that yet.
        package var isUnseen: Bool?
        /// Whether the publisher's last description reported the end.
        package var isOver: Bool?
        /// Whether the epoch came from a relay, which still answers for runs that are over.
        package var isRelayed: Bool?
        /// Whether the epoch is over, and a relay must be asked how far it came.
        package var isEndUnknown: Bool?

        /// Whether its unit or rate is not the log's: position markers then describe the samples after them.
        package var differsFromLog: Bool { unit != nil || rate != nil }

        /// A run that its publisher has not described yet: it has the replay address, the unit and the rate of the run before.
        package init(
            _ name: String, clock: ClockReading, next: Int = 0, heard: WallTime, after last: SessionRecord.Epoch
        ) {
            self.init(epoch: name, clock: clock, replay: last.replay, next: next, heard: heard)
            isReplayGuessed = true
            (isRelayed, unit, rate) = (last.isRelayed, last.unit, last.rate)
        }

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
        /// A description of the device: for LSL, with the outlet's `desc`.
        package var description: String?
        /// How far the device's clock was ahead of the publisher's, at the first report and at the last one when this was stored.
        package var first: RemoteClock
        package var last: RemoteClock

        package init(description: String?, first: RemoteClock, last: RemoteClock) {
            self.description = description
            self.first = first
            self.last = last
        }
    }

    package struct Limits: Codable, Hashable, Sendable {
        /// Bytes after which a file is rotated.
        package var maximumFileSize: Int?
        /// Seconds after which a file is rotated.
        package var maximumFileAge: Double?
        /// Seconds after which the session stops.
        package var duration: Double?
        /// Seconds that the session then waits for results.
        package var resultsWithin: Double?
        /// Seconds from the session's start to its request.
        package var before: Double?
        /// Seconds after which finished files are removed, unless they are kept.
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
