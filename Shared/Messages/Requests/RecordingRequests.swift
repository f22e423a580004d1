/// Starts a recording: `recording.start`.
public struct RecordingStart: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "recording.start"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// A second one is refused.
    public static let isRepeatable = false

    /// The session's name; one is made if it is not given.
    public var session: String?
    /// The first part of the step path: what the person does.
    public var task: String?
    /// The step that the session begins with.
    public var step: String?
    /// Streams by full name (`phone/accelerometer`), all of a device (`left-wrist/`), or all that there are (`*`).
    /// Each in all steps, or in some.
    public var streams: [StreamChoice]
    /// `json` (default), `csv` or `tsv`.
    public var format: String?
    /// `array` (default) or `dictionary`; for `json` only.
    public var root: String?
    /// A log file is finished and the next one begun at this many bytes.
    public var maximumFileSize: Int?
    /// A log file is finished and the next one begun after this many seconds.
    public var maximumFileAge: Double?
    /// The session stops by itself after this many seconds.
    public var duration: Double?
    /// In place of `duration`: the session stops by itself at this moment of the recorder's clock; at once, if it has passed.
    public var until: WallTime?
    /// How many seconds it waits for results then, until `recording.stop` ends it; 0 by default.
    public var resultsWithin: Double?
    /// What else belongs to the session, such as `schedule`: an object that is kept as it is, and stands in its status, its
    /// archive's manifest and `taskResult.json`.
    public var keys: JSONValue?
    /// The session begins so many seconds ago, with what publishers still have of that time; 0 by default. What they do not have
    /// any more is a gap.
    public var before: Double?
    /// In place of `before`: the session begins at this moment of the recorder's clock, up to 2,678,400 seconds (31 days) ago. One
    /// that has not come yet is now.
    public var from: WallTime?
    /// Steps and pauses of a session that another recorder began, in the order of their time, with `from`. See `RecordingPlan`.
    public var changes: [SessionChange]?
    /// Stream files that were finished more than so many seconds ago are removed while the session runs, unless `recording.keep`
    /// saves them; without it, none is.
    public var keep: Double?

    /// What is recorded from now on.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The session's status.
        public var status: String
        /// The logs open so far; a stream that appears later gets its own then.
        public var logs: [LogSummary]

        /// A started session.
        public init(session: String, status: String, logs: [LogSummary]) {
            self.session = session
            self.status = status
            self.logs = logs
        }
    }

    /// Asks for a recording of streams in all steps.
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
    /// Its file, under the session's directory.
    public var file: String
    /// The stream in it.
    public var stream: StreamName
    /// Samples written.
    public var samples: Int
    /// Bytes written.
    public var bytes: Int
    /// Runs of samples that were lost.
    public var gaps: Int
    /// Samples that were lost in a first delivery and got back.
    public var recovered: Int
    /// Whether samples are left out at present, by a pause or because of the step; absent if not.
    public var paused: Bool?

    /// A log's state.
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

/// A recording that continues: what `moveTo`, `pause`, `resume`, `cancel` and `status` answer.
public struct RecordingState: Codable, Hashable, Sendable {
    /// The session's name.
    public var session: String
    /// The session's status.
    public var status: String
    /// The current step path.
    public var step: String
    /// Whether samples of all streams are left out at present.
    public var paused: Bool
    /// The streams that are paused by themselves; absent if there are none.
    public var pausedStreams: [StreamName]?
    /// The logs.
    public var logs: [LogSummary]
    /// What failed so far, sensors included; absent if nothing did.
    public var failures: [String]?
    /// The last of them.
    public var lastFailure: String?
    /// The first part of the step path: what the person does; absent if it has no name.
    public var task: String?
    /// The step path without the task; absent outside steps.
    public var currentStep: String?
    /// When it started.
    public var startDate: WallTime?
    /// When it ended; absent while it runs.
    public var endDate: WallTime?
    /// What was asked for.
    public var configuration: Configuration?
    /// What else belongs to it, as `recording.start` had it.
    public var keys: JSONValue?

    /// What was asked for with `recording.start`.
    public struct Configuration: Codable, Hashable, Sendable {
        /// The streams.
        public var streams: [String]
        /// `json`, `csv` or `tsv`.
        public var format: String
        /// `array` or `dictionary`, for `json`.
        public var root: String?
        /// Bytes after which a new file begins.
        public var maximumFileSize: Int?
        /// Seconds after which a new file begins.
        public var maximumFileAge: Double?
        /// Seconds after which it stops by itself.
        public var duration: Double?
        /// The part of the devices that its recorder takes, as `2/3`.
        public var shard: String?
        /// Seconds for which it began before it was asked for.
        public var before: Double?
        /// Seconds after which finished files are removed that nobody keeps.
        public var keep: Double?
        /// The streams that are recorded in some steps alone; absent if there are none.
        public var choices: [StreamChoice]?

        /// A configuration.
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

    /// A session's state.
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

/// A recording that is over: what `stop` and `result` answer.
public struct RecordingResult: Codable, Hashable, Sendable {
    /// The session's name.
    public var session: String
    /// The session's status.
    public var status: String
    /// How it went.
    public var report: SessionReport
    /// The session's directory, on the recorder's machine.
    public var directory: String
    /// The logs with their finished files.
    public var logs: [Log]
    /// What `taskResult.json` of an archive of the session says: answers, steps, files. Only if it was asked for.
    public var taskResult: JSONValue?

    /// A log that is complete.
    public struct Log: Codable, Hashable, Sendable {
        /// The log's name.
        public var name: String
        /// Its files, in order, under the session's directory.
        public var files: [String]
        /// Samples written.
        public var samples: Int
        /// Runs of samples that were lost.
        public var gaps: Int

        /// A complete log.
        public init(name: String, files: [String], samples: Int, gaps: Int) {
            self.name = name
            self.files = files
            self.samples = samples
            self.gaps = gaps
        }
    }

    /// A session's result.
    public init(session: String, status: String, report: SessionReport, directory: String, logs: [Log]) {
        self.session = session
        self.status = status
        self.report = report
        self.directory = directory
        self.logs = logs
    }
}

/// Goes on to another step: `recording.moveTo`. Every log gets a marker.
public struct RecordingMoveTo: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingState
    /// The method's name on the wire.
    public static let method = "recording.moveTo"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// A second one would leave a second marker.
    public static let isRepeatable = false

    /// The session.
    public var session: String
    /// The step; none for the task as a whole.
    public var step: String?

    /// Asks for another step.
    public init(session: String, step: String?) {
        self.session = session
        self.step = step
    }
}

/// Has a recording that stops by itself last longer: `recording.extend`. It never stops earlier than before, so a second one
/// changes nothing. One that does not stop by itself stays so.
public struct RecordingExtend: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingState
    /// The method's name on the wire.
    public static let method = "recording.extend"
    /// Who may ask.
    public var neededRole: Role { .command }

    /// The session.
    public var session: String
    /// When it stops by itself, on the recorder's clock.
    public var until: WallTime

    /// Asks for more time.
    public init(session: String, until: WallTime) {
        self.session = session
        self.until = until
    }
}

/// Saves a time of a recording that has a ring of files from removal: `recording.keep`. When it is answered, files with samples
/// of that time stay, also those that are finished later.
public struct RecordingKeep: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "recording.keep"
    /// Who may ask.
    public var neededRole: Role { .command }

    /// The session.
    public var session: String
    /// When the time begins, on the recorder's clock; the session's start if it is not given.
    public var from: WallTime?
    /// When it ends; now if it is not given.
    public var to: WallTime?

    /// What is kept.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// When the time begins that is kept, together with what was kept before and touches it.
        public var from: WallTime
        /// When it ends.
        public var to: WallTime
        /// The finished files with samples of that time, by their paths under the data directory.
        public var files: [String]
        /// Those that were removed before; absent if none was.
        public var removed: [String]?

        /// What is kept.
        public init(session: String, from: WallTime, to: WallTime, files: [String], removed: [String]? = nil) {
            self.session = session
            self.from = from
            self.to = to
            self.files = files
            self.removed = removed
        }
    }

    /// Asks to keep a time.
    public init(session: String, from: WallTime? = nil, to: WallTime? = nil) {
        self.session = session
        self.from = from
        self.to = to
    }
}

/// Leaves out samples taken from now on, of all streams or of one: `recording.pause`.
public struct RecordingPause: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingState
    /// The method's name on the wire.
    public static let method = "recording.pause"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// The session.
    public var session: String
    /// The only stream that is paused; none for all.
    public var stream: StreamName?

    /// Asks for a pause.
    public init(session: String, stream: StreamName? = nil) {
        self.session = session
        self.stream = stream
    }
}

/// Writes samples taken from now on again: `recording.resume`. A stream that was paused by itself is resumed by its name.
public struct RecordingResume: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingState
    /// The method's name on the wire.
    public static let method = "recording.resume"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// The session.
    public var session: String
    /// The stream that is resumed; none for a pause of all.
    public var stream: StreamName?

    /// Asks to continue.
    public init(session: String, stream: StreamName? = nil) {
        self.session = session
        self.stream = stream
    }
}

/// Ends a recording whose result nobody wants: `recording.cancel`. Its files stay, complete and valid.
public struct RecordingCancel: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingState
    /// The method's name on the wire.
    public static let method = "recording.cancel"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// A second one is refused.
    public static let isRepeatable = false
    /// The session.
    public var session: String

    /// Asks for the end.
    public init(session: String) { self.session = session }
}

/// Asks how a recording goes: `recording.status`.
public struct RecordingStatus: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingState
    /// The method's name on the wire.
    public static let method = "recording.status"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// The session.
    public var session: String

    /// Asks.
    public init(session: String) { self.session = session }
}

/// Ends a recording: `recording.stop`. Every sample taken before this was asked is in the logs when it is answered.
public struct RecordingStop: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingResult
    /// The method's name on the wire.
    public static let method = "recording.stop"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// The session.
    public var session: String
    /// What was answered in it, to be archived with it: see `TaskResults`. Kept as it is.
    public var results: JSONValue?

    /// Asks for the end.
    public init(session: String, results: JSONValue? = nil) {
        self.session = session
        self.results = results
    }
}

/// Asks how a recording went that is over: `recording.result`.
public struct RecordingResultRequest: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingResult
    /// The method's name on the wire.
    public static let method = "recording.result"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// The session.
    public var session: String
    /// Whether to answer the encoded result too: `taskResult`.
    public var encoded: Bool?

    /// Asks.
    public init(session: String, encoded: Bool? = nil) {
        self.session = session
        self.encoded = encoded
    }
}

/// Asks for the recordings on disk: `recording.list`.
public struct RecordingList: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "recording.list"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// The most entries in a page.
    public static let maximumLimit = 1_000

    /// The session after which a page begins: the last one of the page before.
    public var after: String?
    /// How many entries a page has at most; without it there is one page with all.
    public var limit: Int?

    /// The recordings, oldest first.
    public struct Reply: Codable, Hashable, Sendable {
        /// One entry per session.
        public var recordings: [Entry]
        /// Whether there are more after them; absent if not.
        public var more: Bool?

        /// The recordings.
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
        /// When it ended, if it has.
        public var endDate: WallTime?

        /// A recording.
        public init(session: String, status: String, startDate: WallTime, endDate: WallTime? = nil) {
            self.session = session
            self.status = status
            self.startDate = startDate
            self.endDate = endDate
        }
    }

    /// Asks for all, or for a page.
    public init(after: String? = nil, limit: Int? = nil) {
        self.after = after
        self.limit = limit
    }
}

/// Removes a recording from this machine: `recording.discard`. Its directory, the write-ahead log's samples of it, and in the
/// other programs its archives, catalog entries and steps.
public struct RecordingDiscard: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "recording.discard"
    /// Who may ask.
    public var neededRole: Role { .delete }

    /// The session.
    public var session: String
    /// Whether it is discarded even if it still runs, or if no receipt confirms its upload.
    public var force: Bool?

    /// What became of the session.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// When it was discarded.
        public var date: WallTime
        /// When its upload was confirmed; absent if it was not.
        public var uploaded: WallTime?
        /// Whether nothing of it is left in the recorder's part of the data directory. If not, its files are gone, and its
        /// samples leave the write-ahead log once the sessions that need the log are stored.
        public var isComplete: Bool
        /// What other programs remove, at once or when they start.
        public var others: [Part]

        /// What became of a session.
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

    /// What a program removes of a discarded session.
    public struct Part: Codable, Hashable, Sendable {
        /// The program's name.
        public var program: String
        /// What it removes, for people.
        public var removes: String

        /// A program's part.
        public init(program: String, removes: String) {
            self.program = program
            self.removes = removes
        }

        /// What each program removes.
        public static let all = [
            Part(program: "archiver", removes: "its archives, their record and receipt in archives/"),
            Part(program: "log-manager", removes: "its entries in catalog/"),
            Part(program: "step-counter", removes: "the steps of its devices between its start and end in steps/"),
        ]
    }

    /// Asks for a session to be removed.
    public init(session: String, force: Bool? = nil) {
        self.session = session
        self.force = force
    }
}

/// Keeps what was answered in a recording, in place of what was given before: `recording.setResults`. Any number of times until
/// the recording ends.
public struct RecordingSetResults: Request, Hashable {
    /// What the method answers.
    public typealias Reply = RecordingState
    /// The method's name on the wire.
    public static let method = "recording.setResults"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// The session.
    public var session: String
    /// What was answered in it; see `TaskResults`. Kept as it is.
    public var results: JSONValue

    /// Asks for results to be kept.
    public init(session: String, results: JSONValue) {
        self.session = session
        self.results = results
    }
}

/// Adds a file to a recording, or a piece of one: `recording.addFile`. The bytes are the request's second frame. The file is in
/// the session's directory, and in its archive, once the last piece is there.
public struct RecordingAddFile: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "recording.addFile"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// The session.
    public var session: String
    /// The file's name, such as `photo.jpg`. A file of that name is replaced.
    public var name: String
    /// Where the bytes belong: how many were sent before; 0 by default.
    public var offset: Int?
    /// Whether more pieces follow.
    public var more: Bool?

    /// What is there.
    public struct Reply: Codable, Hashable, Sendable {
        /// The session's name.
        public var session: String
        /// The file's name.
        public var name: String
        /// How many bytes it has so far.
        public var bytes: Int
        /// The hash of the whole file, in lower-case hexadecimal digits; absent if more pieces follow.
        public var sha256: String?

        /// What is there of a file.
        public init(session: String, name: String, bytes: Int, sha256: String? = nil) {
            self.session = session
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
        }
    }

    /// Asks for a file to be added.
    public init(session: String, name: String, offset: Int? = nil, more: Bool? = nil) {
        self.session = session
        self.name = name
        self.offset = offset
        self.more = more
    }
}
