package import Messages

/// What is known of a session besides its samples: what was asked, how it stands, what is where. The contents of
/// `session.json`.
///
/// Dates are ISO 8601, in UTC.
package struct SessionRecord: Codable, Hashable, Sendable {
    /// The literal in `schema`.
    package static let schema = "session.v1"

    package private(set) var schema = SessionRecord.schema
    package var session: SessionIdentifier
    /// What the person does: the first part of each step path. May be empty.
    package var task: String
    /// The step that the session started with. May be empty.
    package var step: String
    /// The streams asked for: `phone/accelerometer`, or `left-wrist/` for all of a device.
    package var streams: [String]
    package var format: LogFormat
    /// What holds the records of JSON logs.
    package var root: JSONRoot
    package var status: SessionStatus
    package var startDate: WallTime
    package var endDate: WallTime?
    /// Each step that the session moved on to, in order.
    package var steps: [Step] = []
    /// Each pause, in order.
    package var pauses: [Pause] = []
    package var logs: [Log] = []
    package var limits: Limits

    package init(
        session: SessionIdentifier, task: String, step: String, streams: [String], format: LogFormat, root: JSONRoot,
        status: SessionStatus, startDate: WallTime, limits: Limits = Limits()
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
    }

    /// A step and its beginning.
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

    /// A time during which samples were left out.
    package struct Pause: Codable, Hashable, Sendable {
        /// Its beginning, in seconds since the session's start.
        package var from: Double
        /// Its end; `nil` while it lasts, and if the session was stopped in it.
        package var to: Double?

        package init(from: Double, to: Double? = nil) {
            self.from = from
            self.to = to
        }
    }

    /// A stream's log.
    package struct Log: Codable, Hashable, Sendable {
        package var name: LogName
        package var device: String
        package var stream: String
        /// The columns of a sample on the wire; the first is `uptime`.
        package var fields: [String]
        /// The unit of the columns after `uptime`, where it is one.
        package var unit: String?
        /// The publisher's epochs that were met, in order.
        package var epochs: [Epoch]
        /// The file being written; `nil` when the log is closed.
        package var file: String?
        /// The finished files, in order.
        package var files: [FinishedFile]

        package init(
            name: LogName, device: String, stream: String, fields: [String], unit: String? = nil,
            epochs: [Epoch] = [], file: String? = nil, files: [FinishedFile] = []
        ) {
            self.name = name
            self.device = device
            self.stream = stream
            self.fields = fields
            self.unit = unit
            self.epochs = epochs
            self.file = file
            self.files = files
        }
    }

    /// One run of a publisher.
    package struct Epoch: Codable, Hashable, Sendable {
        package var epoch: String
        /// The first clock reading that was seen: how its uptimes turn into wall time.
        package var clock: ClockReading

        package init(epoch: String, clock: ClockReading) {
            self.epoch = epoch
            self.clock = clock
        }
    }

    /// When a session or a file of it ends by itself.
    package struct Limits: Codable, Hashable, Sendable {
        /// Bytes after which a log goes on in a new file.
        package var maximumFileSize: Int?
        /// Seconds after which a log goes on in a new file.
        package var maximumFileAge: Double?
        /// Seconds after which the session stops.
        package var duration: Double?

        package init(maximumFileSize: Int? = nil, maximumFileAge: Double? = nil, duration: Double? = nil) {
            self.maximumFileSize = maximumFileSize
            self.maximumFileAge = maximumFileAge
            self.duration = duration
        }
    }
}
