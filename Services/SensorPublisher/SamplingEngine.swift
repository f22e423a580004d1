import FoundationEssentials
import Glibc
import Logging
import MessageBus
import Messages
import ServiceKit
import Synchronization
import SystemPackage
import ZeroMQ

/// Everything that a sensor publisher does with its streams: samples them at their times, publishes, keeps for replay.
///
/// An actor on a thread of its own, so that nothing else delays a sample. Each turn on that thread is bounded; streams,
/// standard input and requests take turns. Requests are in `+requests`, what is published in `+publishing`.
actor SamplingEngine {
    /// The program's name, as the source of its events.
    static let source = Program.sensorPublisher.rawValue
    /// How many samples a stream takes before others have their turn: a few milliseconds' work at most.
    static let samplesPerTurn = 4_096
    /// How long streams are served before requests and standard input have their turn. To give way costs two switches of
    /// threads, so it is not done for each stream.
    private static let longestTurn: Int64 = 2_000_000
    /// How long after one round of due streams the next begins at the earliest: streams that are due within it share a wake-up,
    /// so that their number does not bound how often the thread wakes.
    private static let shortestPause: Int64 = 500_000
    /// How often a driver looks whether another one took its place.
    private static let longestSleep = Nanoseconds.perSecond
    /// How many streams are described in one turn, so that descriptions make no sample late.
    private static let descriptionsPerTurn = 50
    /// How long the program's end may be put off by streams that are behind their schedules; it is cut short after 7 s.
    private static let longestFinish = 3 * Nanoseconds.perSecond
    /// How many bytes are read from standard input in one turn.
    private static let chunkSize = 1 << 16

    /// If a sensor's program closes its output, it may have crashed; a file has a last sample.
    private static let closedPipe = PublisherError(
        .unreadable, "standard input was closed: the program that writes to it has ended; start both again")

    let events: EventPublisher
    let health: Health
    let logger: Logger
    let thread: SocketThread
    /// A UUID of this process, shared by all its streams.
    nonisolated let epoch = UUID().uuidString
    let streams: [PublishedStream]
    /// The stream of standard input, if there is one.
    let live: (stream: PublishedStream, input: LiveInput)?
    private let standardInput: FileDescriptor
    private let startsStopped: Bool
    private let elapsedClock: @Sendable () -> Int64
    private let replay = Mutex("")

    /// The drivers that are to run. A start makes a new one, which knows the stream's first deadline; the one before it ends
    /// within a second.
    nonisolated let drivers: AsyncStream<Int>
    private let driverContinuation: AsyncStream<Int>.Continuation
    private var driver = 0
    private var schedule = StreamSchedule()

    var sleepWatch: SleepWatch
    var retention: RetentionBuffer
    var body = ByteBuffer(capacity: 1 << 16)
    var matrix: ByteBuffer? = ByteBuffer(capacity: 1 << 12)
    var lateness = LatencyHistogram()
    var samplesPublished = 0
    var batchesPublished = 0
    var samplesReplayed = 0
    private var reportedMalformedLines = 0
    private var loggedMalformedLines = 0
    private var hasBegun = false
    var isStopping = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens all sources.
    /// - Parameters:
    ///   - standardInput: where a live stream reads.
    ///   - elapsedClock: a clock that goes on while the machine sleeps, in nanoseconds.
    /// - Throws: `ServiceError` for a source that can't be opened, `ZeroMQError` where the thread can't be made.
    init(
        settings: PublisherSettings, host: ServiceHost, standardInput: FileDescriptor = .standardInput,
        elapsedClock: @escaping @Sendable () -> Int64
    ) throws {
        let epoch = epoch
        do throws(PublisherError) {
            streams = try settings.streams.enumerated().map { (index, stream) throws(PublisherError) in
                try PublishedStream(stream, at: index, epoch: epoch)
            }
        } catch {
            throw ServiceError(error)
        }
        live = streams.lazy.compactMap { stream in (stream.sampler as? LiveInput).map { (stream, $0) } }.first
        startsStopped = settings.startsStopped
        self.standardInput = standardInput
        self.elapsedClock = elapsedClock
        sleepWatch = SleepWatch(elapsedClock: elapsedClock)
        retention = RetentionBuffer(
            maximumAge: settings.retention.nanoseconds, maximumBytes: settings.retentionBytes.bytes)
        events = host.publisher
        health = host.health
        logger = host.logger
        thread = try SocketThread(name: "sampler")
        (drivers, driverContinuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Where `samples.replay` is answered. Set it before anything runs.
    nonisolated var replayEndpoint: String {
        get { replay.withLock { $0 } }
        set { replay.withLock { $0 = newValue } }
    }

    /// Starts all streams, unless they are to wait; only the first call does.
    ///
    /// By the first request, or by the service: whichever comes first, so that no answer shows a stream before its start.
    func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        let now = Self.wholeMicrosecond(instant())
        for stream in streams {
            do throws(PublisherError) {
                if startsStopped { describe(stream) } else { try start(stream, at: now) }
            } catch {
                logger.error("stream not started", metadata: ["stream": "\(stream.name)", LogKey.error: "\(error)"])
                health.report(.degraded, "\(stream.name) is not started: \(error)", for: "stream \(stream.name)")
            }
        }
    }

    /// Starts a stream.
    func start(_ stream: PublishedStream, at now: Int64) throws(PublisherError) {
        try stream.sampler.start(at: now)
        stream.starts += 1
        health.clear("stream \(stream.name)")
        // Input drives itself.
        if live?.stream !== stream, let deadline = stream.sampler.nextDeadline {
            schedule.insert(.init(deadline: deadline, stream: stream.index, start: stream.starts))
            driver += 1
            driverContinuation.yield(driver)
        }
        noteState(of: stream)
    }

    /// Samples and publishes all streams at their times, until another driver takes this one's place.
    func drive(_ driver: Int) async throws {
        var due: [StreamSchedule.Entry] = []
        var roundStart = MonotonicClock.now
        while driver == self.driver {
            let now = MonotonicClock.now
            let wake = min(max(schedule.next ?? .max, roundStart + Self.shortestPause), now + Self.longestSleep)
            if wake > now {
                try await thread.sleep(until: wake)
            } else {
                try Task.checkCancellation()
                await Task.yield()
            }
            guard driver == self.driver else { return }
            roundStart = instant()
            due.removeAll(keepingCapacity: true)
            schedule.takeDue(at: roundStart, into: &due)
            try await serve(due, at: roundStart)
        }
    }

    /// Publishes what is due of each stream, once: one that is far behind its schedule does not keep the others waiting.
    private func serve(_ due: [StreamSchedule.Entry], at now: Int64) async throws {
        var turnEnd = now + Self.longestTurn
        for entry in due {
            if MonotonicClock.now > turnEnd {
                try Task.checkCancellation()
                await Task.yield()
                turnEnd = MonotonicClock.now + Self.longestTurn
            }
            let stream = streams[entry.stream]
            guard stream.starts == entry.start else { continue }
            advance(stream, to: now)
            if let deadline = stream.sampler.nextDeadline {
                schedule.insert(.init(deadline: deadline, stream: entry.stream, start: entry.start))
            }
        }
    }

    /// Describes each stream once a second, and measures as often, until the task is cancelled.
    func describeRegularly() async throws {
        // Many streams are described in turns that are spread over the second.
        let turns = max(1, (streams.count + Self.descriptionsPerTurn - 1) / Self.descriptionsPerTurn)
        let interval = Nanoseconds.perSecond / Int64(turns)
        var tick = MonotonicClock.now
        var turn = 0
        while true {
            // Turns that are late follow at once, so that none of the streams is left out; after a long halt only once.
            tick = max(tick + interval, MonotonicClock.now - Nanoseconds.perSecond)
            try await thread.sleep(until: tick)
            let now = instant()
            let first = turn * Self.descriptionsPerTurn
            for stream in streams[first..<min(first + Self.descriptionsPerTurn, streams.count)] { describe(stream) }
            turn = (turn + 1) % turns
            guard turn == 0 else { continue }
            retention.expire(at: now)
            measure()
            logMalformedLines()
        }
    }

    /// Publishes what comes on standard input, until its end.
    func readInput() async throws {
        guard let live else { return }
        var status = stat()
        let isPipe =
            fstat(standardInput.rawValue, &status) == 0 && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        while true {
            let descriptor = standardInput.rawValue
            guard try await thread.readable(descriptor: descriptor, deadline: live.input.nextDeadline) else {
                advance(live.stream, to: instant())
                continue
            }
            let now = Self.wholeMicrosecond(instant())
            do {
                // It is readable, so this does not wait.
                let count = try chunk.withUnsafeMutableBytes { try standardInput.read(into: $0) }
                guard count > 0 else {
                    let last = isPipe ? live.input.fail(Self.closedPipe, at: now) : live.input.end(at: now)
                    return take(last, from: live.stream, at: now)
                }
                take(live.input.take(chunk.span.extracting(0..<count), at: now), from: live.stream, at: now)
            } catch let error as Errno where error == .resourceTemporarilyUnavailable || error == .interrupted {
                continue
            } catch {
                let failure = PublisherError(.unreadable, "standard input can't be read: \(error)")
                take(live.input.fail(failure, at: now), from: live.stream, at: now)
                return
            }
        }
    }

    /// Publishes what is due and what waits, stops all streams and describes them a last time.
    func finish() async {
        isStopping = true
        begin()
        let now = instant()
        for stream in streams {
            while isDue(stream, at: now), MonotonicClock.now < now + Self.longestFinish {
                advance(stream, to: now)
                await Task.yield()
            }
            if isDue(stream, at: now) {
                logger.warning(
                    "stream stopped behind its schedule: what was due was not sampled",
                    metadata: ["stream": "\(stream.name)", "behind.seconds": "\(secondsBehind(stream, at: now))"])
            }
            if let last = stream.sampler.stop(at: now) { publish([last], of: stream) }
            describe(stream)
        }
        logMalformedLines()
    }

    /// Publishes what is due at an instant, in as many turns as it takes.
    func catchUp(_ stream: PublishedStream, to now: Int64) async throws {
        while isDue(stream, at: now) {
            advance(stream, to: now)
            guard isDue(stream, at: now) else { return }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// This instant, on the clock of uptimes.
    ///
    /// If the machine slept before it, the batches under way are ended and all streams described: batches that were
    /// published before the description have uptimes up to that of its clock, and those after it have later ones.
    func instant() -> Int64 {
        let elapsed = elapsedClock()
        let now = MonotonicClock.now
        guard let slept = sleepWatch.notice(elapsed: elapsed, uptime: now) else { return now }
        let clock = reading(at: now)
        logger.notice("the machine slept", metadata: ["slept.seconds": "\(Nanoseconds.seconds(slept))"])
        for stream in streams {
            // One turn's samples at most: a stream that is far behind its schedule is not taken to its end here.
            publish(stream.sampler.advance(to: now, limit: Self.samplesPerTurn), of: stream, takenAt: now)
            if !isDue(stream, at: now), let last = stream.sampler.flush(at: now) { publish([last], of: stream) }
        }
        for stream in streams { noteState(of: stream, clock: clock) }
        return now
    }

    /// How far a stream is behind its schedule; below 0 while it is not.
    func secondsBehind(_ stream: PublishedStream, at now: Int64) -> Double {
        stream.sampler.nextDeadline.map { Nanoseconds.seconds(now - $0) } ?? 0
    }

    private func isDue(_ stream: PublishedStream, at now: Int64) -> Bool {
        stream.sampler.nextDeadline.map { $0 <= now } ?? false
    }

    /// Publishes what is due, as much as one turn may hold.
    private func advance(_ stream: PublishedStream, to now: Int64) {
        let batches = stream.sampler.advance(to: now, limit: Self.samplesPerTurn)
        publish(batches, of: stream, takenAt: now)
        noteState(of: stream)
    }

    private func take(_ batches: [SampledBatch], from stream: PublishedStream, at now: Int64) {
        // A listener should know the fields before the first samples come.
        if stream.descriptions == 0 { describe(stream) }
        publish(batches, of: stream)
        advance(stream, to: now)
        if let live, live.input.malformedLines > reportedMalformedLines, let problem = live.input.lastProblem {
            reportedMalformedLines = live.input.malformedLines
            health.report(
                .degraded, "\(reportedMalformedLines) lines could not be read and were left out, lately \(problem)",
                for: "malformed lines", lasting: Self.failureLife)
        }
    }

    private func logMalformedLines() {
        guard let live, live.input.malformedLines > loggedMalformedLines, let problem = live.input.lastProblem else {
            return
        }
        loggedMalformedLines = live.input.malformedLines
        logger.warning(
            "lines left out", metadata: ["count": "\(loggedMalformedLines)", LogKey.error: "\(problem)"])
    }

    /// An instant of which uptimes have few digits.
    static func wholeMicrosecond(_ nanoseconds: Int64) -> Int64 {
        nanoseconds - nanoseconds % 1_000
    }
}
