import ArchiveStorage
import ArchiverCore
import Archives
import Encryption
import Files
import Logging
import MessageBus
import Messages
import Recording
import Runtime
import ServiceKit
import Upload
import ZeroMQ

/// Runs an archiver: passes events with their time to `Deliveries`, carries out its effects, and answers requests.
///
/// Has its own thread, since it blocks on disk access; archives are made and uploaded on other threads. The extensions cover
/// effects (`+effects`), requests (`+requests`) and metrics (`+metrics`).
actor ArchiveEngine: Engine {
    let thread: SocketThread
    let runtime: Runtime<Deliveries.Effect, Queue>
    let core: Deliveries
    let folder: ArchiveDirectory
    /// Makes archives, one after the other.
    let maker: OwnThread<SessionArchiver>
    /// Nil if archives stay here.
    let uploader: Uploader?
    let logManager: LogManagerClient
    let listener: Listener
    /// The key of the health report about certificates that are not valid now.
    static let certificateDates = "certificateDates"
    /// The claims of the sessions being worked on.
    var claims: [SessionIdentifier: DirectoryLock] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(settings: ArchiverSettings, on host: ServiceHost) async throws {
        let folder = ArchiveDirectory(host.configuration.dataDirectory)
        try settings.uploads.check(archives: folder.directory.path)
        listener = try await host.listener(to: [TopicArea.recording], of: .recorder, at: settings.subscribe)
        core = Deliveries(
            Deliveries.Settings(
                policy: settings.policy, retries: settings.uploads.policy, uploads: settings.uploads.count,
                rescanInterval: settings.rescanInterval.nanoseconds, logManager: settings.logManager.description))
        self.folder = folder
        maker = try OwnThread(
            name: "archiving", SessionArchiver(choices: settings.choices, recipients: settings.recipients))
        uploader = try settings.uploads.uploader()
        logManager = try LogManagerClient(on: host, endpoint: settings.logManager)
        runtime = Runtime(host)
        thread = try SocketThread(name: "archives")
        for notice in settings.recipients.compactMap(\.notice) {
            host.logger.notice("certificate of an authority", metadata: ["notice": "\(notice)"])
        }
        do throws(ServiceError) {
            try settings.checkCertificates(at: ArchiveEngine.clock().date)
        } catch {
            host.logger.error("no archive can be made", metadata: [LogKey.error: "\(error)"])
            host.health.report(.degraded, "no archive can be made: \(error)", for: Self.certificateDates)
        }
    }

    func begin() {
        core.begin(at: now)
        perform()
    }

    /// Runs until the program stops. Work in progress is then interrupted, and continues or starts over at the next start.
    func run() async throws {
        // Releases all claims at the end.
        defer { claims = [:] }
        try await serve(
            { try await self.listener.forEachBatch { await self.take($0) } },
            { try await self.listener.onReconnect { await self.scan() } })
    }

    private func scan() {
        core.scan(at: now)
        perform()
    }

    /// Takes recorder events.
    private func take(_ batch: MessageBatch) {
        forEachEvent(in: batch) { frames, _, _ in
            let event = try frames.decode(RecordingEvent.self)
            guard SessionStatus(rawValue: event.status)?.isOver ?? false,
                let session = try? SessionIdentifier(event.session)
            else { return }
            core.ended(session, at: now)
        }
        perform()
    }
}
