import Files
import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import SystemPackage
import ZeroMQ

/// Everything that log-manager knows and decides: the catalog, thresholds, marks, and what is removed.
///
/// An actor on a thread of its own, because a durable mark waits for the disk. What takes long (listing directories,
/// removing files) is done by `FileWorker`, or in pieces between which others have their turn, so that no request waits
/// for a clean-up. Its work is in extensions: what is asked (`+requests`), what the disk has (`+disk`), what is removed
/// (`+removal`), thresholds (`+thresholds`), what it counts (`+metrics`).
actor LogEngine {
    /// The program's name, as the source of its events.
    static let source = Program.logManager.rawValue

    let settings: LogManagerSettings
    let folder: DataDirectory
    /// Kept as long as the program runs: nobody else keeps this catalog.
    private let lock: DataLock
    let catalog: Catalog
    /// Room for the ledger where the disk is full: without it nothing could be removed then.
    let reserve: DiskReserve
    /// Nil where nothing happens that anybody should hear of: in a dry run.
    let events: EventPublisher?
    let health: Health
    let logger: Logger
    let thread: SocketThread
    /// Lists directories and removes files.
    let worker: FileWorker
    /// Looks at what is being written, and does not wait for a removal.
    let diskReader: FileWorker

    /// Events of recorders that could not be read.
    var malformed: MalformedMessages
    /// Whether the catalog could not be kept since all was compared last.
    var hasCatalogFailed = false
    /// Whether a recorder has come since all was compared last.
    var hasRecorderCome = false
    /// How many events each log had so far.
    private var sequences: [String: Int] = [:]
    /// Whether a removal is under way; the next one waits.
    var isRemoving = false
    var waitingRemovals: [CheckedContinuation<Void, Never>] = []
    /// Woken where a threshold is crossed that cleaning up is for.
    nonisolated let full: AsyncStream<Void>
    let fullContinuation: AsyncStream<Void>.Continuation
    /// What was removed since the program's start.
    var removals: [RemovalReason: (files: Int, bytes: Int)] = [:]
    /// Files that were marked as uploaded since then.
    var markedFiles = 0
    /// Bytes free on the disk, when it was looked at last; nil where it can't be told.
    var freeBytes: Int?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the catalog.
    /// - Throws: `RecordingError` where another log-manager has it, or it can't be read.
    init(
        settings: LogManagerSettings, data: FilePath, events: EventPublisher?, health: Health, logger: Logger
    ) throws {
        self.settings = settings
        lock = try DataLock.acquire(in: data, directory: Catalog.directoryName, for: Program.logManager.rawValue)
        reserve = DiskReserve(in: Directory(data.appending(Catalog.directoryName)))
        folder = try DataDirectory(data)
        catalog = try Self.catalog(in: data, reserve)
        self.events = events
        self.health = health
        self.logger = logger
        malformed = MalformedMessages(health: health, logger: logger)
        thread = try SocketThread(name: "catalog")
        worker = try FileWorker(folder: folder)
        diskReader = try FileWorker(folder: folder)
        (full, fullContinuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Opens the catalog, with the room that was kept for it where the disk is full.
    private static func catalog(in data: FilePath, _ reserve: DiskReserve) throws(RecordingError) -> Catalog {
        do {
            return try Catalog(in: data)
        } catch {
            // SQLite calls a full disk an I/O error where it can't make the files beside its database.
            guard error.code == .noSpace || error.code == .inputOutput, reserve.exists else { throw error }
            try reserve.release()
            return try Catalog(in: data)
        }
    }

    /// Completes what an end in the middle left, and compares the catalog with the disk.
    func begin() async throws {
        noteRoom()
        try await completeRemovals()
        try await rescan(isStart: true)
        _ = try setThresholds(settings.thresholds)
    }

    /// Publishes what happened. What can't be sent is in the log.
    func publish(
        _ change: LogFileEvent.Change, of name: String, path: String? = nil, bytes: Int? = nil, reason: String? = nil,
        threshold: Threshold.Kind? = nil, limit: Int? = nil
    ) {
        let sequence = sequences[name, default: 0]
        sequences[name] = sequence + 1
        let event = LogFileEvent(
            source: Self.source, sequence: sequence, name: name, change: change, date: .now, path: path, bytes: bytes,
            reason: reason, threshold: threshold?.rawValue, limit: limit)
        do {
            try events?.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }
}
