import Logging
package import Messages
package import SampleSources
package import ServiceKit

/// The state and decisions of a sensor publisher: which streams are due and when, what is published, what is retained for replay.
///
/// It receives events with their time and returns effects. The caller has the sources, sockets and clocks: it carries out the
/// effects and reports the results. Confined to one thread. Its work is in extensions: sampling (`+sampling`), standard input
/// (`+input`), requests (`+requests`), replays (`+replay`), and descriptions and health (`+reports`).
///
/// Streams take turns. Each piece of work is bounded, and so is the work done before requests and standard input have their turn:
/// a stream that is far behind its schedule does not make the others late.
package final class Publication: ProgramCore {
    package struct Settings: Sendable {
        /// How long samples are retained for replay, in nanoseconds.
        package let retention: Int64
        /// The most memory that retained samples may take, in bytes.
        package let retentionBytes: Int
        /// Whether streams wait for `streams.start`.
        package let startsStopped: Bool
        /// Identifies the machine while its clock of uptimes continues: part of the epochs of clients that number samples.
        package var machine = "0"
        /// The configured phones, by the names that they send.
        package var phones: [String: Phone] = [:]
        /// The platform of phones that are not configured.
        package var platform: PhonePlatform?

        package init(retention: Int64, retentionBytes: Int, startsStopped: Bool) {
            self.retention = retention
            self.retentionBytes = retentionBytes
            self.startsStopped = startsStopped
        }
    }

    /// The configuration of a phone that pushes from Sensor Logger.
    package struct Phone: Hashable, Sendable {
        /// The device name of its streams.
        package let name: String
        /// nil if it is not configured.
        package let platform: PhonePlatform?

        package init(name: String, platform: PhonePlatform?) {
            self.name = name
            self.platform = platform
        }
    }

    /// The program's name, as the source of its events.
    package static let source = Program.sensorPublisher.rawValue
    /// The shortest time between the starts of two rounds of due streams, in nanoseconds: streams that are due within it share a
    /// wake-up, so the thread's wake-ups do not grow with the number of streams.
    package static let shortestPause: Int64 = 500_000

    /// Those of the configuration, followed by those that clients push.
    package private(set) var streams: [PublishedStream]
    /// The stream of standard input or a serial port, if there is one.
    package let live: (stream: PublishedStream, input: LiveInput)?
    let settings: Settings
    let epoch: String
    private(set) var indexes: [StreamName: Int]
    var pushes = PushState()
    /// Places in the retention buffer that hold no samples and can be reused.
    var freePlaces: [Int] = []
    private var nextPlace: Int
    /// The endpoint that answers `samples.replay`.
    var replayEndpoint = ""
    package var effects: [Effect] = []

    // Time
    var sleepWatch: SleepWatch
    var schedule = StreamSchedule()
    /// The streams of the present round, and how many of them were served.
    private var round: [StreamSchedule.Entry] = []
    private var served = 0
    private var roundStart = Int64.min
    /// When streams are described next, and whose turn it is.
    var describeAt = Int64.max
    var descriptionTurn = 0
    package private(set) var hasBegun = false

    // Requests
    var lists: [Int: (streams: [PublishedStream], remaining: Int)] = [:]
    var retention: RetentionBuffer
    var replaysUnderWay = 0

    // The end
    var isStopping = false
    /// When streams that are behind their schedules are stopped anyway.
    var finishDeadline = Int64.max
    var unfinished = 0

    // Measures
    package internal(set) var lateness = LatencyHistogram()
    package internal(set) var samplesPublished = 0
    package internal(set) var batchesPublished = 0
    package internal(set) var samplesReplayed = 0
    package var retainedBytes: Int { retention.bytes }
    var reportedMalformedLines = 0
    var loggedMalformedLines = 0

    /// - Parameters:
    ///   - streams: in the order of their indexes, which are 0, 1, 2 …; at most one reads standard input or a serial port.
    ///   - epoch: of all streams; new at every start of the program.
    package init(_ settings: Settings, streams: [PublishedStream], epoch: String, sleepWatch: SleepWatch) {
        self.settings = settings
        self.streams = streams
        self.epoch = epoch
        self.sleepWatch = sleepWatch
        live = streams.lazy.compactMap { stream in (stream.sampler as? LiveInput).map { (stream, $0) } }.first
        indexes = Dictionary(streams.map { ($0.name, $0.index) }) { first, _ in first }
        nextPlace = streams.count
        retention = RetentionBuffer(maximumAge: settings.retention, maximumBytes: settings.retentionBytes)
    }

    // MARK: Streams that clients push

    /// Takes a free place in the retention buffer.
    func takePlace() -> Int {
        if let free = freePlaces.popLast() {
            retention.begin(at: free)
            return free
        }
        defer { nextPlace += 1 }
        return nextPlace
    }

    /// Puts a stream at its index: at the end of the list, or in another's place.
    func put(_ stream: PublishedStream) {
        if stream.index == streams.count { streams.append(stream) } else { streams[stream.index] = stream }
        indexes[stream.name] = stream.index
    }

    /// Removes a stream that a client pushed; the last stream takes its index.
    func remove(_ stream: PublishedStream) {
        indexes[stream.name] = nil
        let last = streams.removeLast()
        guard last !== stream else { return }
        last.index = stream.index
        put(last)
    }

    // MARK: Time

    /// Starts all streams, unless they wait for `streams.start`. Nothing else may be called before.
    ///
    /// Called at the first request or when the program runs, whichever is first: no answer shows a stream before its start.
    /// - Parameter endpoint: the endpoint that answers `samples.replay`.
    package func begin(replayEndpoint endpoint: String, at now: Moment) {
        hasBegun = true
        replayEndpoint = endpoint
        describeAt = now.monotonic + descriptionInterval
        for stream in streams {
            if settings.startsStopped {
                noteState(of: stream, at: now)
            } else if let error = start(stream, at: now) {
                emit(.log(.error, "stream not started", ["stream": "\(stream.name)", LogKey.error: "\(error)"]))
                emit(.report(.degraded, "\(stream.name) is not started: \(error)", for: stream.healthKey))
            }
        }
    }

    package var nextDeadline: Int64 {
        served < round.count ? .min : min(nextRound, describeAt, finishDeadline, pushes.deadline)
    }

    private var nextRound: Int64 { schedule.next.map { max($0, roundStart + Self.shortestPause) } ?? .max }

    /// Does one piece of the due work, so that each piece has the right time.
    package func wake(at now: Moment) {
        let time = now.monotonic
        if describeAt <= time { describeSome(at: now) }
        if finishDeadline <= time { finishLate(at: now) }
        if pushes.deadline <= time { wakePushes(at: now) }
        if served == round.count, nextRound <= time {
            round.removeAll(keepingCapacity: true)
            served = 0
            roundStart = time
            schedule.takeDue(at: time, into: &round)
        }
        if served < round.count {
            served += 1
            serve(round[served - 1], at: now)
        }
    }

    /// Checks the clocks for a sleep. `elapsed` must be read first; call this before handling any other event.
    ///
    /// If the machine slept, the batches under way are ended and all streams described: batches published before the description
    /// have uptimes up to that of its clock, and those after it have later ones.
    /// - Parameter elapsed: nanoseconds of a clock that continues while the machine sleeps.
    package func notice(elapsed: Int64, at now: Moment) {
        guard let slept = sleepWatch.notice(elapsed: elapsed, uptime: now.monotonic), hasBegun else { return }
        emit(.log(.notice, "the machine slept", ["slept.seconds": "\(Nanoseconds.seconds(slept))"]))
        live?.input.noteSleep(slept)
        let clock = reading(at: now)
        for stream in streams where stream.goals.count < Self.maximumGoals {
            add(.describe(clock), to: stream, at: now)
        }
    }

    func reading(at now: Moment) -> ClockReading {
        ClockReading(
            uptime: Nanoseconds.seconds(now.monotonic), date: now.date,
            elapsed: Nanoseconds.seconds(sleepWatch.elapsed(at: now.monotonic)))
    }
}
