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

/// Runs a log-manager: passes events and their times to `StreamFiles`, and carries out its effects.
///
/// Runs on a thread of its own, because a durable mark waits for the disk. Slow work is done on other threads: listing
/// directories, removing files. Extensions carry out effects (`+effects`), answer requests (`+requests`) and keep metrics
/// (`+metrics`).
actor LogEngine: Engine {
    let thread: SocketThread
    let runtime: Runtime<StreamFiles.Effect, Queue>
    let core: StreamFiles
    let folder: DataDirectory
    /// Held while the program runs, so that no other log-manager uses this catalog.
    private let lock: DataLock
    let catalog: Catalog
    /// Space for the ledger on a full disk, where nothing could be removed without it.
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

    /// Opens the catalog.
    /// - Parameter listener: nil for a dry run.
    /// - Throws: `RecordingError` if another log-manager uses the catalog, or it can't be read.
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

    /// Opens the catalog; if the disk is full, with the space reserved for it.
    private static func catalog(in data: FilePath, _ reserve: DiskReserve) throws(RecordingError) -> Catalog {
        do {
            return try Catalog(in: data)
        } catch {
            // On a full disk, SQLite reports an I/O error if it can't create the files beside its database.
            guard error.code == .noSpace || error.code == .inputOutput, reserve.exists else { throw error }
            try reserve.release()
            return try Catalog(in: data)
        }
    }

    /// Carries out the work that must be done before requests are answered.
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

    /// The stream files that a clean-up would remove now, and the sessions whose directories it would remove after
    /// them, with the bytes of these directories.
    func removalPreview() throws -> (files: [CatalogFile], sessions: [(session: SessionIdentifier, bytes: Int)]) {
        var candidates = try core.removalCandidates()
        let files = Dictionary(grouping: candidates.files, by: \.session)
        var sessions: [(session: SessionIdentifier, bytes: Int)] = []
        for group in candidates.sessions where !candidates.plan.isEnough {
            let removable = group.compactMap { session in
                folder.retirableBytes(
                    of: session, onlyUploaded: candidates.onlyUploaded, without: files[session] ?? []
                ).map { (session: session, bytes: $0) }
            }
            _ = candidates.plan.take(from: removable.map(\.bytes))
            sessions += removable
        }
        return (candidates.files, sessions)
    }

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

    /// Starts the work of a request, and waits for its answer.
    func answer<Reply: Sendable>(_ ask: @Sendable (StreamFiles, Moment) -> Answer<Reply>) async throws -> Reply {
        let answer = ask(core, now)
        perform()
        try await wait { answer.result != nil }
        guard let result = answer.result else { throw CancellationError() }
        return try result.get()
    }
}
