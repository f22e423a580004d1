/// Starts a recording: `recording.start`.
public struct RecordingStart: Request, Hashable {
    /// The name on the wire.
    public static let method = "recording.start"
    /// The required role.
    public var neededRole: Role { .command }
    /// A repeated request is refused.
    public static let isRepeatable = false

    /// The session's name; if omitted, the recorder generates one.
    public var session: String?
    /// The first part of the step path: what the person does.
    public var task: String?
    /// The step that the session begins with.
    public var step: String?
    /// Streams by full name (`phone/accelerometer`), all streams of a device (`left-wrist/`), or all streams (`*`), in all
    /// steps or in some.
    public var streams: [StreamChoice]
    /// `json` (default), `csv` or `tsv`.
    public var format: String?
    /// `array` (default) or `dictionary`; for `json` only.
    public var root: String?
    /// The size in bytes at which a stream file is finished and the next one begins.
    public var maximumFileSize: Int?
    /// The age in seconds at which a stream file is finished and the next one begins.
    public var maximumFileAge: Double?
    /// The session stops by itself after this many seconds.
    public var duration: Double?
    /// Instead of `duration`: the session stops by itself at this time of the recorder's clock, at once if it has passed.
    public var until: WallTime?
    /// How many seconds the session then waits for results, until `recording.stop` ends it; 0 by default.
    public var resultsWithin: Double?
    /// Further keys of the session, such as `schedule`: an object that is kept unchanged, and copied to the session's status,
    /// its archive's manifest and `taskResult.json`.
    public var keys: JSONValue?
    /// The session begins this many seconds ago, with the samples that publishers still retain; 0 by default. Samples that are
    /// no longer retained are a gap.
    public var before: Double?
    /// Instead of `before`: the session begins at this time of the recorder's clock, at most 2,678,400 seconds (31 days) ago. A
    /// time in the future counts as now.
    public var from: WallTime?
    /// Steps and pauses of a session that another recorder began, ordered by time, together with `from`. See `RecordingPlan`.
    public var changes: [SessionChange]?
    /// Stream files that were finished more than this many seconds ago are removed while the session runs, unless
    /// `recording.keep` protects them; if omitted, none is removed.
    public var keep: Double?

    /// The started session.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The session's status.
        public var status: String
        /// The logs opened so far; a stream that appears later gets its log then.
        public var logs: [LogSummary]

        /// Creates the reply.
        public init(session: String, status: String, logs: [LogSummary]) {
            self.session = session
            self.status = status
            self.logs = logs
        }
    }

    /// Creates a request for all steps.
    public init(
        session: String? = nil, task: String? = nil, step: String? = nil, streams: [String], format: String? = nil,
        root: String? = nil, maximumFileSize: Int? = nil, maximumFileAge: Double? = nil, duration: Double? = nil,
        resultsWithin: Double? = nil, keys: JSONValue? = nil, before: Double? = nil, from: WallTime? = nil,
        keep: Double? = nil, until: WallTime? = nil, changes: [SessionChange]? = nil
    ) {
        self.until = until
        self.keep = keep
        self.changes = changes
        self.before = before
        self.from = from
        self.resultsWithin = resultsWithin
        self.keys = keys
        self.session = session
        self.task = task
        self.step = step
        self.streams = streams.map { StreamChoice($0) }
        self.format = format
        self.root = root
        self.maximumFileSize = maximumFileSize
        self.maximumFileAge = maximumFileAge
        self.duration = duration
    }
}

/// A log that is being written.
public struct LogSummary: Codable, Hashable, Sendable {
    /// The log's name.
    public var name: String
    /// Its current file, relative to the session's directory.
    public var file: String
    /// The log's stream.
    public var stream: StreamName
    /// Samples written.
    public var samples: Int
    /// Bytes written.
    public var bytes: Int
    /// Runs of samples that were lost.
    public var gaps: Int
    /// Samples lost in the first delivery and recovered by replay.
    public var recovered: Int
    /// Whether samples are left out at present, because of a pause or the step; absent if not.
    public var paused: Bool?

    /// Creates a summary.
    public init(
        name: String, file: String, stream: StreamName, samples: Int, bytes: Int, gaps: Int, recovered: Int,
        paused: Bool? = nil
    ) {
        self.paused = paused
        self.name = name
        self.file = file
        self.stream = stream
        self.samples = samples
        self.bytes = bytes
        self.gaps = gaps
        self.recovered = recovered
    }
}

/// The state of a recording: the reply to `moveTo`, `pause`, `resume`, `cancel` and `status`.
public struct RecordingState: Codable, Hashable, Sendable {
    /// The session's name.
    public var session: String
    /// The session's status.
    public var status: String
    /// The current step path.
    public var step: String
    /// Whether samples of all streams are left out at present.
    public var paused: Bool
    /// The streams that are paused individually; absent if there are none.
    public var pausedStreams: [StreamName]?
    /// The session's logs.
    public var logs: [LogSummary]
    /// All failures so far, including sensors'; absent if there are none.
    public var failures: [String]?
    /// The last of `failures`.
    public var lastFailure: String?
    /// The first part of the step path: what the person does; absent if the task has no name.
    public var task: String?
    /// The step path without the task; absent outside steps.
    public var currentStep: String?
    /// When the session started.
    public var startDate: WallTime?
    /// When the session ended; absent while it runs.
    public var endDate: WallTime?
    /// The parameters of `recording.start`.
    public var configuration: Configuration?
    /// The session's further keys, as `recording.start` received them.
    public var keys: JSONValue?

    /// The parameters of `recording.start`.
    public struct Configuration: Codable, Hashable, Sendable {
        /// The names or patterns of streams.
        public var streams: [String]
        /// `json`, `csv` or `tsv`.
        public var format: String
        /// `array` or `dictionary`; for `json` only.
        public var root: String?
        /// The size in bytes at which a new file begins.
        public var maximumFileSize: Int?
        /// The age in seconds at which a new file begins.
        public var maximumFileAge: Double?
        /// Seconds after which the session stops by itself.
        public var duration: Double?
        /// The share of the devices that the recorder takes, as `2/3`.
        public var shard: String?
        /// Seconds before the request at which the session began.
        public var before: Double?
        /// Seconds after which finished files are removed, unless they are protected.
        public var keep: Double?
        /// The streams that are recorded only in some steps; absent if there are none.
        public var choices: [StreamChoice]?

        /// Creates a configuration.
        public init(
            streams: [String], format: String, root: String? = nil, maximumFileSize: Int? = nil,
            maximumFileAge: Double? = nil, duration: Double? = nil, shard: String? = nil, before: Double? = nil,
            keep: Double? = nil, choices: [StreamChoice]? = nil
        ) {
            self.keep = keep
            self.choices = choices
            self.before = before
            self.streams = streams
            self.format = format
            self.root = root
            self.maximumFileSize = maximumFileSize
            self.maximumFileAge = maximumFileAge
            self.duration = duration
            self.shard = shard
        }
    }

    /// Creates a session's state.
    public init(
        session: String, status: String, step: String, paused: Bool, logs: [LogSummary], failures: [String]? = nil
    ) {
        lastFailure = failures?.last
        self.session = session
        self.status = status
        self.step = step
        self.paused = paused
        self.logs = logs
        self.failures = failures
    }
}

/// The result of a recording: the reply to `stop` and `result`.
public struct RecordingResult: Codable, Hashable, Sendable {
    /// The session's name.
    public var session: String
    /// The session's status.
    public var status: String
    /// The session's report.
    public var report: SessionReport
    /// The session's directory, on the recorder's machine.
    public var directory: String
    /// The logs with their finished files.
    public var logs: [Log]
    /// The contents of `taskResult.json` in an archive of the session: answers, steps, files. Only if requested with `encoded`.
    public var taskResult: JSONValue?

    /// A log that is complete.
    public struct Log: Codable, Hashable, Sendable {
        /// The log's name.
        public var name: String
        /// The log's files, in order, relative to the session's directory.
        public var files: [String]
        /// Samples written.
        public var samples: Int
        /// Runs of samples that were lost.
        public var gaps: Int

        /// Creates a complete log.
        public init(name: String, files: [String], samples: Int, gaps: Int) {
            self.name = name
            self.files = files
            self.samples = samples
            self.gaps = gaps
        }
    }

    /// Creates a session's result.
    public init(session: String, status: String, report: SessionReport, directory: String, logs: [Log]) {
        self.session = session
        self.status = status
        self.report = report
        self.directory = directory
        self.logs = logs
    }
}

/// Moves a recording to another step: `recording.moveTo`. Every log gets a marker.
public struct RecordingMoveTo: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingState
    /// The name on the wire.
    public static let method = "recording.moveTo"
    /// The required role.
    public var neededRole: Role { .command }
    /// A repeated request would add a second marker.
    public static let isRepeatable = false

    /// The session's name.
    public var session: String
    /// The step; nil for the task as a whole.
    public var step: String?

    /// Creates the request.
    public init(session: String, step: String?) {
        self.session = session
        self.step = step
    }
}

/// Postpones the automatic end of a recording: `recording.extend`. The recording never ends earlier than before, so a repeated
/// request changes nothing. A recording without an automatic end stays so.
public struct RecordingExtend: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingState
    /// The name on the wire.
    public static let method = "recording.extend"
    /// The required role.
    public var neededRole: Role { .command }

    /// The session's name.
    public var session: String
    /// When the recording stops by itself, on the recorder's clock.
    public var until: WallTime

    /// Creates the request.
    public init(session: String, until: WallTime) {
        self.session = session
        self.until = until
    }
}

/// Protects a span of a recording with a ring of files from removal: `recording.keep`. After the reply, files with samples of
/// that span are kept, including files that are finished later.
public struct RecordingKeep: Request, Hashable {
    /// The name on the wire.
    public static let method = "recording.keep"
    /// The required role.
    public var neededRole: Role { .command }

    /// The session's name.
    public var session: String
    /// The start of the span, on the recorder's clock; the session's start if omitted.
    public var from: WallTime?
    /// The end of the span; now if omitted.
    public var to: WallTime?

    /// The protected span.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The start of the protected span, which includes earlier protected spans that touch it.
        public var from: WallTime
        /// Its end.
        public var to: WallTime
        /// The paths of the finished files with samples of that span, under the data directory.
        public var files: [String]
        /// The paths of such files that were already removed; absent if none was.
        public var removed: [String]?

        /// Creates the reply.
        public init(session: String, from: WallTime, to: WallTime, files: [String], removed: [String]? = nil) {
            self.session = session
            self.from = from
            self.to = to
            self.files = files
            self.removed = removed
        }
    }

    /// Creates the request.
    public init(session: String, from: WallTime? = nil, to: WallTime? = nil) {
        self.session = session
        self.from = from
        self.to = to
    }
}

/// Leaves out samples taken from now on, of all streams or of one: `recording.pause`.
public struct RecordingPause: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingState
    /// The name on the wire.
    public static let method = "recording.pause"
    /// The required role.
    public var neededRole: Role { .command }
    /// The session's name.
    public var session: String
    /// The only stream to pause; nil for all.
    public var stream: StreamName?

    /// Creates the request.
    public init(session: String, stream: StreamName? = nil) {
        self.session = session
        self.stream = stream
    }
}

/// Writes samples taken from now on again: `recording.resume`. A stream that was paused individually is resumed by its name.
public struct RecordingResume: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingState
    /// The name on the wire.
    public static let method = "recording.resume"
    /// The required role.
    public var neededRole: Role { .command }
    /// The session's name.
    public var session: String
    /// The stream to resume; nil to end the pause of all streams.
    public var stream: StreamName?

    /// Creates the request.
    public init(session: String, stream: StreamName? = nil) {
        self.session = session
        self.stream = stream
    }
}

/// Ends a recording whose result is not needed: `recording.cancel`. Its files stay, complete and valid.
public struct RecordingCancel: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingState
    /// The name on the wire.
    public static let method = "recording.cancel"
    /// The required role.
    public var neededRole: Role { .command }
    /// A repeated request is refused.
    public static let isRepeatable = false
    /// The session's name.
    public var session: String

    /// Creates the request.
    public init(session: String) { self.session = session }
}

/// Asks for the state of a recording: `recording.status`.
public struct RecordingStatus: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingState
    /// The name on the wire.
    public static let method = "recording.status"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The session's name.
    public var session: String

    /// Creates the request.
    public init(session: String) { self.session = session }
}

/// Ends a recording: `recording.stop`. When the recorder replies, every sample taken before the request is in the stream files.
public struct RecordingStop: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingResult
    /// The name on the wire.
    public static let method = "recording.stop"
    /// The required role.
    public var neededRole: Role { .command }
    /// The session's name.
    public var session: String
    /// The person's answers in the session, to be archived with it: see `TaskResults`. Kept unchanged.
    public var results: JSONValue?

    /// Creates the request.
    public init(session: String, results: JSONValue? = nil) {
        self.session = session
        self.results = results
    }
}

/// Asks for the result of a recording that is over: `recording.result`.
public struct RecordingResultRequest: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingResult
    /// The name on the wire.
    public static let method = "recording.result"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The session's name.
    public var session: String
    /// Whether the reply includes the encoded result, `taskResult`.
    public var encoded: Bool?

    /// Creates the request.
    public init(session: String, encoded: Bool? = nil) {
        self.session = session
        self.encoded = encoded
    }
}

/// Asks for the recordings on disk: `recording.list`.
public struct RecordingList: Request, Hashable {
    /// The name on the wire.
    public static let method = "recording.list"
    /// The required role.
    public var neededRole: Role { .listen }

    /// The maximum number of entries in a page.
    public static let maximumLimit = 1_000

    /// The session after which the page begins: the last one of the previous page.
    public var after: String?
    /// The maximum number of entries in the page; if omitted, there is one page with all.
    public var limit: Int?

    /// The recordings, oldest first.
    public struct Reply: Codable, Hashable, Sendable {
        /// One entry per session.
        public var recordings: [Entry]
        /// Whether more recordings follow; absent if not.
        public var more: Bool?

        /// Creates the reply.
        public init(recordings: [Entry], more: Bool? = nil) {
            self.recordings = recordings
            self.more = more
        }
    }

    /// A recording on disk.
    public struct Entry: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The session's status.
        public var status: String
        /// When it started.
        public var startDate: WallTime
        /// When it ended; absent while it runs.
        public var endDate: WallTime?
        /// `true` if it was interrupted and this recorder could not continue it: its status is that before the interruption.
        public var isInterrupted: Bool?

        /// Creates an entry.
        public init(
            session: String, status: String, startDate: WallTime, endDate: WallTime? = nil, isInterrupted: Bool? = nil
        ) {
            self.session = session
            self.status = status
            self.startDate = startDate
            self.endDate = endDate
            self.isInterrupted = isInterrupted
        }
    }

    /// Creates the request.
    public init(after: String? = nil, limit: Int? = nil) {
        self.after = after
        self.limit = limit
    }
}

/// Removes a recording from this machine: `recording.discard`. The recorder removes its directory and its samples in the
/// write-ahead log; the other programs remove its archives, catalog entries and steps.
public struct RecordingDiscard: Request, Hashable {
    /// The name on the wire.
    public static let method = "recording.discard"
    /// The required role.
    public var neededRole: Role { .delete }

    /// The session's name.
    public var session: String
    /// Whether to discard the session even if it is still running, or if no receipt confirms its upload.
    public var force: Bool?

    /// The discarded session.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// When it was discarded.
        public var date: WallTime
        /// When the session's upload was confirmed; absent if it was not.
        public var uploaded: WallTime?
        /// Whether nothing is left in the recorder's part of the data directory. If false, the session's files are gone, and
        /// its samples leave the write-ahead log once the sessions that need the log are stored.
        public var isComplete: Bool
        /// What other programs remove, at once or at their next start.
        public var others: [Part]

        /// Creates the reply.
        public init(
            session: String, date: WallTime, uploaded: WallTime? = nil, isComplete: Bool, others: [Part] = Part.all
        ) {
            self.session = session
            self.date = date
            self.uploaded = uploaded
            self.isComplete = isComplete
            self.others = others
        }
    }

    /// The part of a discarded session that one program removes.
    public struct Part: Codable, Hashable, Sendable {
        /// The program's name.
        public var program: String
        /// The removed data, for people.
        public var removes: String

        /// Creates a program's part.
        public init(program: String, removes: String) {
            self.program = program
            self.removes = removes
        }

        /// The part of each program.
        public static let all = [
            Part(program: "archiver", removes: "its archives, their record and receipt in archives/"),
            Part(program: "log-manager", removes: "its entries in catalog/"),
            Part(program: "step-counter", removes: "the steps of its devices between its start and end in steps/"),
        ]
    }

    /// Creates the request.
    public init(session: String, force: Bool? = nil) {
        self.session = session
        self.force = force
    }
}

/// Stores a person's answers in a recording, replacing earlier ones: `recording.setResults`. Can be repeated until the
/// recording ends.
public struct RecordingSetResults: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = RecordingState
    /// The name on the wire.
    public static let method = "recording.setResults"
    /// The required role.
    public var neededRole: Role { .command }
    /// The session's name.
    public var session: String
    /// The person's answers in the session; see `TaskResults`. Kept unchanged.
    public var results: JSONValue

    /// Creates the request.
    public init(session: String, results: JSONValue) {
        self.session = session
        self.results = results
    }
}

/// Adds a file, or a piece of one, to a recording: `recording.addFile`. The bytes are the request's second frame. The file
/// appears in the session's directory, and in its archive, once the last piece has arrived.
public struct RecordingAddFile: Request, Hashable {
    /// The name on the wire.
    public static let method = "recording.addFile"
    /// The required role.
    public var neededRole: Role { .command }
    /// The session's name.
    public var session: String
    /// The file's name, such as `photo.jpg`. An existing file of that name is replaced.
    public var name: String
    /// The offset of the bytes in the file: the number of bytes sent before; 0 by default.
    public var offset: Int?
    /// Whether more pieces follow.
    public var more: Bool?

    /// The stored file or piece.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The file's name.
        public var name: String
        /// The number of bytes stored so far.
        public var bytes: Int
        /// SHA-256 of the whole file, in lower-case hexadecimal; absent if more pieces follow.
        public var sha256: String?

        /// Creates the reply.
        public init(session: String, name: String, bytes: Int, sha256: String? = nil) {
            self.session = session
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
        }
    }

    /// Creates the request.
    public init(session: String, name: String, offset: Int? = nil, more: Bool? = nil) {
        self.session = session
        self.name = name
        self.offset = offset
        self.more = more
    }
}
