import Files
import FoundationEssentials
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import Runtime
import ServiceKit
import SystemPackage
import ZeroMQ

/// Runs a recorder: reports events with their time to `Recordings`, carries out its effects, and answers requests.
///
/// On a thread of its own. The work is in extensions: effects (`+effects`), the beginning of sessions (`+beginning`), other
/// requests (`+requests`, `+annotations`), interrupted sessions (`+restart`), and metrics (`+metrics`).
actor RecordingEngine: Engine {
    /// Bytes. A hundred samples of eight fields take 16 KB as JSON, and the kernel needs some more.
    private static let messageBytes = 20 << 10

    let thread: SocketThread
    let runtime: Runtime<Recordings.Effect, Queue>
    let core: Recordings
    let settings: RecorderSettings
    let data: FilePath
    /// Held while the program runs: no other recorder may record into this data directory.
    private let lock: DataLock
    /// Disk space for samples in memory when the disk is full.
    let reserve: DiskReserve
    /// Disk space for the ends of sessions then, never for samples: markers, records, reports.
    let endReserve: DiskReserve
    /// For work that waits for the disk and is not a commit, such as the beginning of a session.
    let disk: OwnThread<Void>
    /// For pages about sessions that are over: each takes as long as reading the session's files.
    let pages: OwnThread<Void>
    let log: OwnThread<WriteAheadLog>
    let files: FileWriter
    let logDirectory: Directory
    let disposal: SessionDisposal
    let listener: Listener
    let publishers: Publishers
    let logManager: LogManagerClient
    /// On the monotonic clock.
    let startedAt: Int64

    /// Interrupted sessions that could not be resumed, and from where they need the write-ahead log; nil if they do not. If the
    /// disk had no space for one, resuming it is retried.
    var interrupted: [(directory: SessionDirectory, position: Int?, isTriedAgain: Bool)] = [] {
        didSet { core.interrupted = interrupted.compactMap { $0.position } }
    }
    /// Sessions that are over and whose pages are not written yet.
    var unwrittenReports = 0
    /// Totals of the sessions that are over, and their number by status.
    var endedTotals = StreamTotals()
    var endedSessions: [SessionStatus: Int] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the recorder of a data directory, and resumes the interrupted sessions in it.
    init(settings: RecorderSettings, host: ServiceHost) async throws {
        self.settings = settings
        listener = try await host.listenerToStreams(
            at: settings.subscribe, receiveHighWaterMark: settings.receiveHighWaterMark,
            messageBytes: Self.messageBytes)
        runtime = Runtime(host)
        startedAt = runtime.monotonic
        // Absolute: replies name files to readers with other working directories.
        data = FilePath(FileManager.default.currentDirectoryPath).pushing(host.configuration.dataDirectory)
            .lexicallyNormalized()
        lock = try DataLock.acquire(in: data, shard: settings.shard)
        disposal = SessionDisposal(in: data)
        files = try FileWriter(data: data)
        let recovery = try await Self.recover(in: data, shard: settings.shard, files: files, logger: host.logger)
        let recordings = SessionDirectory.recordings(in: data)
        reserve = DiskReserve(in: recordings, shard: settings.shard)
        endReserve = DiskReserve(in: recordings, shard: settings.shard, name: ".reserve-end", bytes: 512 << 10)
        thread = try SocketThread(name: "writer")
        disk = try OwnThread(name: "disk", ())
        pages = try OwnThread(name: "pages", ())
        core = Recordings(
            Recordings.Settings(settings), log: recovery.log ?? UUID().uuidString, position: recovery.logEnd)
        logDirectory = WriteAheadLog.directory(in: data, shard: settings.shard)
        log = try OwnThread(name: "commit", WriteAheadLog(in: logDirectory, synced: recovery.logSynced))
        publishers = host.peers.publishers
        logManager = LogManagerClient(
            peers: host.peers, endpoint: settings.logManager, limit: settings.logManagerLimit, clock: Self.clock)
        await resumeSessions(recovery)
    }

    func run() async throws {
        try await serve(
            { try await self.listener.forEachBatch { await self.take($0) } },
            // Sessions first get everything sampled so far; only then does receiving end.
            finish: { await self.stop() })
    }

    /// Takes received messages.
    private func take(_ batch: MessageBatch) async {
        guard !batch.isEmpty else { return }
        while core.isFull {
            core.commitNow(at: now)
            perform()
            try? await wait { [core] in !core.isFull }
            if Task.isCancelled { return }
        }
        let now = now
        takeEvents(in: batch, of: publishers, at: now)
        core.endBatches(at: now)
        perform()
    }

    /// Measures the free space on the disk.
    func lookAtDisk() {
        core.take(freeBytes: try? Directory(data).freeBytes(), at: now)
        perform()
    }

    /// Prepares for the program's end: ends every session with the data taken so far, or leaves it to the next start.
    private func stop() async {
        switch settings.onStop {
        case .finish: core.stopAll(at: now)
        case .continue: core.leaveAll(at: now)
        }
        perform()
        try? await wait { [self] in core.isIdle && unwrittenReports == 0 }
    }
}
