import Files
import Logging
import LogManagerCore
import LogStorage
import MessageBus
import Messages
import Recording
import ServiceKit
import SystemPackage
import ZeroMQ

/// Runs a log-manager: tells `StreamFiles` what happens and when, and carries out what it asks for.
///
/// An actor on a thread of its own, because a durable mark waits for the disk. `FileWorker` does what takes long: it lists
/// directories and removes files. Its work is in extensions: what is to be done (`+effects`), what is asked (`+requests`),
/// what it counts (`+metrics`).
actor LogEngine {
    private static let tickInterval = TimeSpan.seconds(1).nanoseconds

    let core: StreamFiles
    let folder: DataDirectory
    /// Kept as long as the program runs: nobody else keeps this catalog.
    private let lock: DataLock
    let catalog: Catalog
    /// Space for the ledger on a full disk: without it nothing could be removed then.
    let reserve: DiskReserve
    /// Nil in a dry run.
    let events: EventPublisher?
    let health: Health
    let logger: Logger
    private let thread: SocketThread
    let worker: FileWorker
    /// Looks at files without waiting for a removal.
    let diskReader: FileWorker
    nonisolated let looks = EffectQueue<StreamFiles.Effect>()
    nonisolated let scans = EffectQueue<StreamFiles.Effect>()
    nonisolated let removals = EffectQueue<StreamFiles.Effect>()
    /// Events of recorders that could not be read.
    private var malformed: MalformedMessages
    private var waits = WaitList()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the catalog. Without events, for a dry run.
    /// - Throws: `RecordingError` if another log-manager has it, or it can't be read.
    init(
        settings: LogManagerSettings, data: FilePath, events: EventPublisher?, health: Health, logger: Logger
    ) throws {
        lock = try DataLock.acquire(in: data, directory: Catalog.directoryName, for: Program.logManager.rawValue)
        reserve = DiskReserve(in: Directory(data.appending(Catalog.directoryName)))
        folder = try DataDirectory(data)
        catalog = try Self.catalog(in: data, reserve)
        core = StreamFiles(settings.core, catalog: catalog, isDryRun: events == nil)
        self.events = events
        self.health = health
        self.logger = logger
        malformed = MalformedMessages(health: health, logger: logger)
        thread = try SocketThread(name: "catalog")
        worker = try FileWorker(folder: folder)
        diskReader = try FileWorker(folder: folder)
    }

    /// Opens the catalog, on a full disk with the space that was reserved for it.
    private static func catalog(in data: FilePath, _ reserve: DiskReserve) throws(RecordingError) -> Catalog {
        do {
            return try Catalog(in: data)
        } catch {
            // SQLite calls a full disk an I/O error if it can't make the files beside its database.
            guard error.code == .noSpace || error.code == .inputOutput, reserve.exists else { throw error }
            try reserve.release()
            return try Catalog(in: data)
        }
    }

    /// Carries out what has to be done before anything is answered.
    func begin() async throws {
        core.start(at: .now)
        while true {
            let effects = core.takeEffects()
            if effects.isEmpty { break }
            for effect in effects { await carryOut(effect) }
        }
        if case .failed(let error) = core.state { throw error }
    }

    /// What a clean-up would remove now.
    func removalCandidates() throws -> [CatalogFile] { try core.removalCandidates() }

    /// Takes events of recorders.
    func take(_ batch: MessageBatch) {
        var segments: [SegmentFinished] = []
        var sessions: [RecordingEvent] = []
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let frames = try EventFrames(message, of: messages)
                    if frames.isIn(TopicArea.segment) {
                        segments.append(try frames.decode(SegmentFinished.self))
                    } else if frames.isIn(TopicArea.recording) {
                        sessions.append(try frames.decode(RecordingEvent.self))
                    }
                } catch {
                    malformed.note(error)
                }
            }
        }
        core.take(segments, sessions, at: .now)
        perform()
    }

    func noteReconnect() { core.noteReconnect() }

    /// Does what is due by time, until the task is cancelled.
    func tickRegularly() async throws {
        var tick = MonotonicClock.now
        while true {
            tick = max(tick + Self.tickInterval, MonotonicClock.now)
            try await thread.sleep(until: tick)
            core.tick(at: .now)
            perform()
        }
    }

    // MARK: Answers

    /// Carries out what a request asks for, and returns its answer.
    func answer<Reply: Sendable>(_ ask: @Sendable (StreamFiles) -> Answer<Reply>) async throws -> Reply {
        let answer = ask(core)
        perform()
        if answer.result == nil {
            for await _ in waits.add(until: .max, group: nil, for: { answer.result != nil }) {}
        }
        guard let result = answer.result else { throw CancellationError() }
        return try result.get()
    }

    func resumeWaits() { waits.resume(at: MonotonicClock.now) }
}
