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

/// Runs a recorder: tells `Recordings` what happens and when, carries out what it asks for, and answers requests.
///
/// On a thread of its own. Its work is in extensions: what is to be done (`+effects`), how a session begins (`+beginning`), what else is
/// asked (`+requests`, `+annotations`), what was
/// interrupted (`+restart`), what it counts (`+metrics`).
actor RecordingEngine: Engine {
    /// A hundred samples of eight fields as JSON take 16 KB, and the kernel holds some more.
    private static let messageBytes = 20 << 10

    let thread: SocketThread
    let runtime: Runtime<Recordings.Effect, Queue>
    let core: Recordings
    let settings: RecorderSettings
    let data: FilePath
    /// Held while the program runs: no other recorder records into this data directory.
    private let lock: DataLock
    /// Room for what is in memory when the disk is full.
    let reserve: DiskReserve
    /// Room for the ends of sessions then, which no sample gets: markers, records, reports.
    let endReserve: DiskReserve
    /// For what waits for the disk and is not a commit: the begin of a session, say.
    let disk: OwnThread<Void>
    /// For pages about sessions that are over, each of which takes as long as the session's files take to be read.
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

    /// Interrupted sessions that could not be continued, and from where they need the write-ahead log; nil if they do not. Those
    /// that the disk had no room for are tried again.
    var interrupted: [(directory: SessionDirectory, position: Int?, isTriedAgain: Bool)] = [] {
        didSet { core.interrupted = interrupted.compactMap { $0.position } }
    }
    /// Sessions that are over, and whose pages are not written yet.
    var unwrittenReports = 0
    /// What sessions had that are over, and how many of them ended how.
    var endedTotals = StreamTotals()
    var endedSessions: [SessionStatus: Int] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// A recorder of a data directory, which continues the sessions in it that were interrupted.
    init(settings: RecorderSettings, host: ServiceHost) async throws {
        self.settings = settings
        listener = try await host.listenerToStreams(
            at: settings.subscribe, receiveHighWaterMark: settings.receiveHighWaterMark,
            messageBytes: Self.messageBytes)
        runtime = Runtime(host)
        startedAt = runtime.monotonic
        // Replies name files to people who may stand elsewhere.
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
            // Sessions get everything that was sampled so far; only then does the pulling end.
            finish: { await self.stop() })
    }

    /// Takes what was received.
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

    /// Looks how much room there is.
    func lookAtDisk() {
        core.take(freeBytes: try? Directory(data).freeBytes(), at: now)
        perform()
    }

    /// The program is about to end: ends every session with what was taken so far, or leaves it to the next start.
    private func stop() async {
        switch settings.onStop {
        case .finish: core.stopAll(at: now)
        case .continue: core.leaveAll(at: now)
        }
        perform()
        try? await wait { [self] in core.isIdle && unwrittenReports == 0 }
    }
}
