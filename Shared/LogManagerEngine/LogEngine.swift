import Files
import LogManagerCore
import LogStorage
import MessageBus
import Messages
import Recording
import Runtime
import ServiceKit
import SystemPackage
import ZeroMQ

/// Runs a log-manager: tells `StreamFiles` what happens and when, and carries out what it asks for.
///
/// On a thread of its own, because a durable mark waits for the disk; what takes long is done on others: listing directories,
/// removing files. Its work is in extensions: what is to be done (`+effects`), what is asked (`+requests`), what it counts
/// (`+metrics`).
actor LogEngine: Engine {
    let thread: SocketThread
    let runtime: Runtime<StreamFiles.Effect, Queue>
    let core: StreamFiles
    let folder: DataDirectory
    /// Held while the program runs: no other log-manager keeps this catalog.
    private let lock: DataLock
    let catalog: Catalog
    /// Space for the ledger on a full disk: without it nothing could be removed then.
    let reserve: DiskReserve
    /// Compares and removes.
    let worker: OwnThread<DataDirectory>
    /// Looks at files without waiting for a removal.
    let diskReader: OwnThread<DataDirectory>
    /// Nil in a dry run.
    let listener: Listener?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(settings: LogManagerSettings, host: ServiceHost) async throws {
        let listener = try await host.listener(
            to: [TopicArea.segment, TopicArea.recording], of: .recorder, at: settings.subscribe)
        try self.init(settings: settings, data: host.configuration.dataDirectory, Runtime(host), listener: listener)
    }

    /// Opens the catalog. Without a listener, for a dry run.
    /// - Throws: `RecordingError` if another log-manager has it, or it can't be read.
    init(
        settings: LogManagerSettings, data: FilePath, _ runtime: sending Runtime<StreamFiles.Effect, Queue>,
        listener: Listener?
    ) throws {
        self.runtime = runtime
        self.listener = listener
        lock = try DataLock.acquire(in: data, directory: Catalog.directoryName, for: Program.logManager.rawValue)
        reserve = DiskReserve(in: Directory(data.appending(Catalog.directoryName)))
        folder = try DataDirectory(data)
        catalog = try Self.catalog(in: data, reserve)
        core = StreamFiles(settings.core, catalog: catalog, isDryRun: listener == nil)
        thread = try SocketThread(name: "catalog")
        worker = try OwnThread(name: "files", folder)
        diskReader = try OwnThread(name: "files", folder)
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
        core.start(at: now)
        try await performInTurn()
        if case .failed(let error) = core.state { throw error }
    }

    func run() async throws {
        guard let listener else { return }
        try await serve(
            { try await listener.forEachBatch { await self.take($0) } },
            { try await listener.onReconnect { await self.noteReconnect() } })
    }

    /// What a clean-up would remove now.
    func removalCandidates() throws -> [CatalogFile] { try core.removalCandidates() }

    /// Takes events of recorders.
    private func take(_ batch: MessageBatch) {
        var segments: [SegmentFinished] = []
        var sessions: [RecordingEvent] = []
        forEachEvent(in: batch) { frames, _, _ in
            if frames.isIn(TopicArea.segment) {
                segments.append(try frames.decode(SegmentFinished.self))
            } else if frames.isIn(TopicArea.recording) {
                sessions.append(try frames.decode(RecordingEvent.self))
            }
        }
        core.take(segments, sessions, at: now)
        perform()
    }

    private func noteReconnect() { core.noteReconnect() }

    /// Carries out what a request asks for, and returns its answer.
    func answer<Reply: Sendable>(_ ask: @Sendable (StreamFiles, Moment) -> Answer<Reply>) async throws -> Reply {
        let answer = ask(core, now)
        perform()
        try await wait { answer.result != nil }
        guard let result = answer.result else { throw CancellationError() }
        return try result.get()
    }
}
