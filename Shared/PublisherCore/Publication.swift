import Logging
package import Messages
package import SampleSources
package import ServiceKit

/// Everything that a sensor publisher knows and decides: which streams are due and when, what is published, what is kept for replay.
///
/// It receives events with their time and returns effects. The caller has sources, sockets and clocks: it carries the effects
/// out and reports the results. Confined to one thread. Its work is in extensions: how streams are sampled (`+sampling`), what
/// comes on standard input (`+input`), what is asked (`+requests`), what is missing at a listener (`+replay`), and what is said
/// of the streams (`+reports`).
///
/// Streams take turns. Each piece of work is bounded, and so is what is done before requests and standard input have their
/// turn: one stream that is far behind its schedule makes no other late.
package final class Publication: ProgramCore {
    package struct Settings: Sendable {
        /// How long samples are kept for replay, in nanoseconds.
        package let retention: Int64
        /// How many bytes of them.
        package let retentionBytes: Int
        /// Whether streams wait for `streams.start`.
        package let startsStopped: Bool
        /// What is the same as long as this machine's clock of uptimes goes on: part of the epochs of clients that number samples.
        package var machine = "0"
        /// What is said of phones, by what they call themselves.
        package var phones: [String: Phone] = [:]
        /// What other phones are.
        package var platform: PhonePlatform?

        package init(retention: Int64, retentionBytes: Int, startsStopped: Bool) {
            self.retention = retention
            self.retentionBytes = retentionBytes
            self.startsStopped = startsStopped
        }
    }

    /// What is said of a phone that pushes from Sensor Logger.
    package struct Phone: Hashable, Sendable {
        /// What its streams have as device.
        package let name: String
        /// nil if it is not stated.
        package let platform: PhonePlatform?

        package init(name: String, platform: PhonePlatform?) {
            self.name = name
            self.platform = platform
        }
    }

    /// The program's name, as the source of its events.
    package static let source = Program.sensorPublisher.rawValue
    /// How long after one round of due streams the next begins at the earliest: streams that are due within it share a wake-up,
    /// so that their number does not bound how often the thread wakes.
    package static let shortestPause: Int64 = 500_000

    /// Those of the configuration, and behind them those that clients push.
    package private(set) var streams: [PublishedStream]
    /// The stream of standard input, if there is one.
    package let live: (stream: PublishedStream, input: LiveInput)?
    let settings: Settings
    let epoch: String
    private(set) var indexes: [StreamName: Int]
    var pushes = PushState()
    /// Where samples can be kept that none are kept at.
    var freePlaces: [Int] = []
    private var nextPlace: Int
    /// Where `samples.replay` is answered.
    var replayEndpoint = ""
    package var effects: [Effect] = []

    // Time
    var sleepWatch: SleepWatch
    var schedule = StreamSchedule()
    /// The streams of the present round, and how many of them were served.
    private var round: [StreamSchedule.Entry] = []
    private var served = 0
    private var roundStart = Int64.min
    /// When streams are described next, and which.
    var describeAt = Int64.max
    var descriptionTurn = 0
    package private(set) var hasBegun = false

    // Requests
    var lists: [Int: (streams: [PublishedStream], remaining: Int)] = [:]
    var retention: RetentionBuffer
    var replaysUnderWay = 0

    // The end
    var isStopping = false
    /// When streams that are behind their schedules are stopped all the same.
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
    ///   - streams: in the order of their indexes, which are 0, 1, 2 …; one of them at most of standard input.
    ///   - epoch: of all streams: new at every start of the program.
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

    /// A place to keep samples at.
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

    /// Removes a stream that a client pushed; the last one takes its index.
    func remove(_ stream: PublishedStream) {
        indexes[stream.name] = nil
        let last = streams.removeLast()
        guard last !== stream else { return }
        last.index = stream.index
        put(last)
    }

    // MARK: Time

    /// Starts all streams, unless they are to wait. Before that nothing else may be called.
    ///
    /// At the first request, or when the program runs: whichever comes first, so that no answer shows a stream before its start.
    /// - Parameter endpoint: where `samples.replay` is answered.
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

    /// Does a piece of what is due, so that the time is right for each piece.
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

    /// Looks at the clocks, of which `elapsed` was read first: call it before whatever else happened.
    ///
    /// If the machine slept, the batches under way are ended and all streams described: batches that were
    /// published before the description have uptimes up to that of its clock, and those after it have later ones.
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

    /// All clocks at a moment.
    func reading(at now: Moment) -> ClockReading {
        ClockReading(
            uptime: Nanoseconds.seconds(now.monotonic), date: now.date,
            elapsed: Nanoseconds.seconds(sleepWatch.elapsed(at: now.monotonic)))
    }
}
