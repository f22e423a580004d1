import DequeModule
import Files
import FoundationEssentials
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import SystemPackage
import ZeroMQ

/// Everything that a recorder knows: the sessions under way and the streams that publishers describe.
///
/// An actor on a thread of its own. What must wait for somebody else (a replay, a session's end) leaves it as an `Order`,
/// which the service carries out. Its work is in extensions: what arrives (`+samples`), what is asked (`+requests`), how
/// sessions end (`+ending`), what is missing (`+recovery`), what becomes durable (`+commits`), what was interrupted
/// (`+restart`), which sensors fail and whose clocks are wrong (`+watch`), how far it is behind (`+lag`), how logs are to be
/// written (`+configuration`), what it counts (`+metrics`).
actor RecordingEngine {
    /// Work that waits for others, carried out outside of the engine.
    enum Order: Sendable {
        case recover(session: SessionIdentifier, stream: StreamName)
        case stop(session: SessionIdentifier)
    }

    final class Route {
        let recordings: [(session: Session, stream: StreamRecording)]
        var reader = SampleBodyReader()

        init(_ recordings: [(session: Session, stream: StreamRecording)]) { self.recordings = recordings }
    }

    /// What tasks wait for.
    private struct Wait {
        /// Whose tasks may wait together.
        let session: SessionIdentifier?
        /// On `MonotonicClock`.
        let deadline: Int64
        let isOver: () -> Bool
        /// Finishing one ends the wait of its task.
        var tasks: [AsyncStream<Void>.Continuation]
    }

    /// Of its events.
    static let source = Program.recorder.rawValue

    let settings: RecorderSettings
    let data: FilePath
    /// Kept as long as the program runs: nobody else records into this data directory.
    private let lock: DataLock
    /// Room for what is in memory when the disk is full.
    let reserve: DiskReserve
    /// Room for the ends of sessions then, which no sample gets: markers, records, reports.
    let endReserve: DiskReserve
    let events: EventPublisher
    let health: Health
    let logger: Logger
    let thread: SocketThread
    let disk: DiskThread
    /// What the next commit makes durable.
    let appender: LogAppender
    let log: LogWriter
    let files: FileWriter
    let logDirectory: Directory
    let held: HeldBytes
    /// Raised when something is to be committed, or to be written into files.
    nonisolated let uncommitted = Signal()
    nonisolated let unwrittenSignal = Signal()
    /// Raised when sessions may have something to store.
    nonisolated let storing = Signal()
    /// Raised when log-manager is to be asked.
    nonisolated let asking = Signal()
    var isCommitting = false
    var pace: CommitPace
    /// Blocks that are committed and not in files yet, and the bytes of all that is not.
    var unwritten: Deque<LogBlock> = []
    var backlogBytes = 0
    /// The position up to which everything was handed to files.
    var appliedEnd = 0
    var isWritingFiles = false
    /// Whether some records wait to be written into their files.
    var areFilesBehind = false
    /// Of the write-ahead log.
    var logBytes = 0
    let listener: Listener
    let publishers: Publishers
    let logManager: LogManagerClient
    /// Few: at most one recovery per stream of a session, and a stop per session and tick until it is carried out.
    nonisolated let orders: AsyncStream<Order>
    let ordering: AsyncStream<Order>.Continuation
    let startedAt = MonotonicClock.now

    var sessions: [SessionIdentifier: Session] = [:]
    /// Sessions whose files are being made.
    var starting: Set<SessionIdentifier> = []
    /// Sessions that are over, but whose report could not be stored; it is tried again.
    var unstored: [SessionIdentifier: Session] = [:]
    /// Interrupted sessions that the disk had no room to continue, and from where they need the write-ahead log.
    var interrupted: [(directory: SessionDirectory, position: Int)] = []
    /// Bytes free on the disk, when it was looked at last; nil before, and where it can't be told.
    var freeBytes: Int?
    var lookedAtDisk: Int64 = 0
    var storedAgain: Int64 = 0
    /// When each stream was described last, on `MonotonicClock`, by where its publisher replays.
    var described: [StreamName: [String: Int64]] = [:]
    var configurations = LogConfigurations()
    /// Logs that log-manager is to be asked for.
    var unasked: Set<LogName> = []
    /// Streams that a session wants and whose logs wait for log-manager's answer, and when they were described.
    var waiting: [StreamName: (description: StreamDescription, time: Int64)] = [:]
    /// Seconds that publishers' clocks are ahead of ours, of those that are wrong.
    var wrongClocks: [String: Double] = [:]
    var routes = TopicTable<Route>()
    var descriptions = StreamDescriptions()
    var malformed: MalformedMessages
    /// When sessions that are being stopped must have what they wait for, on `MonotonicClock`: set when the program ends.
    var lastCall: Int64?
    /// What sessions had that are over, and how many of them ended how.
    var endedTotals = StreamTotals()
    var endedSessions: [SessionStatus: Int] = [:]
    /// From publication to commit.
    var latencies = LatencyHistogram()
    var commitTimes = LatencyHistogram()
    var lag = RecorderLag()
    /// A cancelled task ends its own wait by itself.
    private var waits: [Wait] = []
    /// When streams were last looked at that may have failed, on `MonotonicClock`.
    var watchedAt: Int64 = 0
    /// Raised where a session of this run ends with loss.
    nonisolated let loss = LossFlag()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// A recorder of a data directory, which continues the sessions in it that were interrupted.
    init(settings: RecorderSettings, host: ServiceHost, listener: Listener) async throws {
        self.settings = settings
        self.listener = listener
        // Replies name files to people who may stand elsewhere.
        data = FilePath(FileManager.default.currentDirectoryPath).pushing(host.configuration.dataDirectory)
            .lexicallyNormalized()
        lock = try DataLock.acquire(in: data, shard: settings.shard)
        files = try FileWriter(data: data)
        let recovery = try await Self.recover(in: data, shard: settings.shard, files: files, logger: host.logger)
        let recordings = SessionDirectory.recordings(in: data)
        reserve = DiskReserve(in: recordings, shard: settings.shard)
        endReserve = DiskReserve(in: recordings, shard: settings.shard, name: ".reserve-end", bytes: 512 << 10)
        events = host.publisher
        health = host.health
        logger = host.logger
        malformed = MalformedMessages(health: host.health, logger: host.logger)
        thread = try SocketThread(name: "writer")
        disk = try DiskThread()
        appender = LogAppender(log: recovery.log ?? UUID().uuidString, position: recovery.logEnd)
        logDirectory = WriteAheadLog.directory(in: data, shard: settings.shard)
        log = try LogWriter(WriteAheadLog(in: logDirectory, synced: recovery.logEnd))
        held = HeldBytes(limit: settings.holdLimit)
        pace = CommitPace(interval: settings.syncInterval.nanoseconds)
        appliedEnd = recovery.logEnd
        publishers = host.peers.publishers
        logManager = LogManagerClient(
            peers: host.peers, endpoint: settings.logManager, limit: settings.logManagerLimit)
        (orders, ordering) = AsyncStream.makeStream(of: Order.self, bufferingPolicy: .unbounded)
        await resumeSessions(recovery)
    }

    // MARK: Waiting

    /// Returns when something is so, or at a time on `MonotonicClock`. Whatever can make it so calls `resumeWaits`; each tick
    /// does too, so that deadlines are kept.
    /// - Parameter session: whose tasks wait together for the same thing, until the deadline of the first: thousands of
    ///   waits would each be looked at with every batch that arrives.
    func wait(
        until deadline: Int64 = .max, together session: SessionIdentifier? = nil, for isSo: @escaping () -> Bool
    ) async throws {
        if isSo() || MonotonicClock.now >= deadline { return }
        let (over, continuation) = AsyncStream.makeStream(of: Void.self)
        if let session, let index = waits.firstIndex(where: { $0.session == session }) {
            waits[index].tasks.append(continuation)
        } else {
            waits.append(Wait(session: session, deadline: deadline, isOver: isSo, tasks: [continuation]))
        }
        for await _ in over {}
        try Task.checkCancellation()
    }

    /// Ends the waits for what is so now.
    func resumeWaits() {
        if waits.isEmpty { return }
        let now = MonotonicClock.now
        let looked = waits
        waits = []
        let remaining = looked.filter { wait in
            guard now >= wait.deadline || wait.isOver() else { return true }
            for task in wait.tasks { task.finish() }
            return false
        }
        waits = remaining + waits
    }

    // MARK: Telling

    func publish(
        _ change: RecordingEvent.Change, of session: Session, stream: StreamName? = nil, gap: Gap? = nil,
        reason: String? = nil, report: SessionReport? = nil
    ) {
        let event = RecordingEvent(
            source: Self.source, sequence: session.eventSequence, session: session.identifier.text, date: .now,
            change: change, status: session.status.rawValue, step: session.timeline.current.stepPath, stream: stream,
            gap: gap, reason: reason, report: report)
        session.eventSequence += 1
        publish(event)
    }

    /// Publishes an event. One that can't be sent is logged: what it says is on disk too.
    func publish(_ event: some Event) {
        do {
            try events.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// Publishes gaps that nobody was told of yet.
    func announceGaps(of stream: StreamRecording, in session: Session) {
        for gap in stream.takeNewGaps() {
            var metadata: Logger.Metadata = [
                "session": "\(session.identifier)", "stream": "\(stream.name)", "from": "\(gap.from)",
                "count": "\(gap.count)", "reason": "\(gap.reason.rawValue)",
            ]
            if gap.reason == .malformed, let fault = stream.lastFault { metadata[LogKey.error] = "\(fault)" }
            logger.error("samples lost", metadata: metadata)
            publish(.gap, of: session, stream: stream.name, gap: gap)
        }
    }

    /// Ends a session that can't go on: what is on disk stays valid, and everybody is told.
    func fail(_ session: Session, _ error: any Error) {
        let isFull = (error as? RecordingError)?.code == .noSpace
        // A full disk is one failure, whichever of the files finds no room first.
        if isFull, session.status == .failed { return }
        guard session.fail("\(error)") else { return }
        // What is in memory may still find room.
        if isFull { try? reserve.release() }
        logger.error(
            "recording failed", metadata: ["session": "\(session.identifier)", LogKey.error: "\(error)"])
        health.report(.degraded, "session \(session.identifier) failed: \(error)", for: "session")
        publish(.failure, of: session, reason: "\(error)")
        routes = TopicTable()
        ordering.yield(.stop(session: session.identifier))
    }
}
