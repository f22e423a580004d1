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

/// Runs a recorder: tells `Recordings` what happens and when, carries out what it asks for, and answers requests.
///
/// An actor on a thread of its own. Its work is in extensions: what is to be done (`+effects`), what is asked (`+requests`),
/// what was interrupted (`+restart`), what it counts (`+metrics`).
actor RecordingEngine {
    let settings: RecorderSettings
    let core: Recordings
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
    let log: LogWriter
    let files: FileWriter
    let logDirectory: Directory
    let listener: Listener
    let publishers: Publishers
    let logManager: LogManagerClient
    nonisolated let queues = EffectQueues()
    let startedAt = MonotonicClock.now

    /// Sessions whose files are being made.
    var starting: Set<SessionIdentifier> = []
    /// Interrupted sessions that the disk had no room to continue, and from where they need the write-ahead log.
    var interrupted: [(directory: SessionDirectory, position: Int)] = [] {
        didSet { core.interrupted = interrupted.map(\.position) }
    }
    /// Bytes free on the disk, when it was looked at last; nil before, and where it can't be told.
    var freeBytes: Int?
    var malformed: MalformedMessages
    /// What sessions had that are over, and how many of them ended how.
    var endedTotals = StreamTotals()
    var endedSessions: [SessionStatus: Int] = [:]
    /// A cancelled task ends its own wait by itself.
    private var waits = WaitList()
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
        core = Recordings(
            Recordings.Settings(settings), log: recovery.log ?? UUID().uuidString, position: recovery.logEnd)
        logDirectory = WriteAheadLog.directory(in: data, shard: settings.shard)
        log = try LogWriter(WriteAheadLog(in: logDirectory, synced: recovery.logSynced))
        publishers = host.peers.publishers
        logManager = LogManagerClient(
            peers: host.peers, endpoint: settings.logManager, limit: settings.logManagerLimit)
        health.measure(.commitLatency, core.latencies)
        health.measure(.behind, core.lag.seconds)
        await resumeSessions(recovery)
    }

    /// Takes what was received.
    func take(_ batch: MessageBatch) async {
        guard !batch.isEmpty else { return }
        while core.isFull {
            core.commitNow(at: .now)
            perform()
            try? await wait { [core] in !core.isFull }
            if Task.isCancelled { return }
        }
        let now = Moment.now
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let description = try core.take(EventFrames(message, of: messages), at: now)
                    if let description, let origin = messages.origin(of: message) {
                        publishers.note(description.replay, heardFrom: origin)
                    }
                } catch {
                    malformed.note(error)
                }
            }
        }
        core.endBatches(at: now)
        perform()
    }

    /// Does what is due by time, until the task is cancelled.
    func tickRegularly() async throws {
        let interval = settings.syncInterval.nanoseconds
        var tick = MonotonicClock.now
        var lookedAtDisk = tick
        while true {
            tick = max(tick + interval, MonotonicClock.now)
            try await thread.sleep(until: tick)
            core.tick(at: .now)
            health.measure(.behind, core.lag.seconds)
            perform()
            if tick >= lookedAtDisk + TimeSpan.seconds(1).nanoseconds {
                lookedAtDisk = tick
                lookAtDisk()
                await resumeRemaining()
            }
        }
    }

    /// Looks how much room there is.
    func lookAtDisk() {
        freeBytes = try? Directory(data).freeBytes()
        core.take(freeBytes: freeBytes, at: .now)
        perform()
    }

    /// Ends every session, each with what was taken so far, for the program is about to end.
    func stopAll() async {
        core.stopAll(at: .now)
        perform()
        try? await wait { [core] in core.isIdle }
        await queues.events.drain()
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
        let over = waits.add(until: deadline, group: session, for: isSo)
        for await _ in over {}
        try Task.checkCancellation()
    }

    /// Ends the waits for what is so now.
    func resumeWaits() { waits.resume(at: MonotonicClock.now) }
}
