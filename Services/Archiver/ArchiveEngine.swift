import Upload
import Archives
import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import Synchronization
import ZeroMQ

/// Brings every session from its end to its receipt.
///
/// What is next for a session is decided from the disk alone (`ArchivePolicy`), so a kill at any moment loses nothing but
/// time. Who works on a session has its claim: other archivers on the same data directory take the others. Each kind of
/// work has a lane, so that archives are made while a receiver is away.
///
/// An actor on a thread of its own, since it waits for the disk; archives are made and uploaded on others. Its work is
/// in extensions: what is looked for (`+scan`), who does what when (`+work`), what is done (`+steps`), what is asked (`+requests`), what
/// it counts (`+metrics`).
actor ArchiveEngine {
    /// The program's name, as the source of its events.
    private static let source = Program.archiver.rawValue

    let settings: ArchiverSettings
    let folder: ArchiveDirectory
    let maker: ArchiveMaker
    /// Nil where archives stay here.
    let uploader: Uploader?
    let keeper: LogKeeper
    let health: Health
    let logger: Logger
    let thread: SocketThread
    private let events: EventPublisher

    /// Events of recorders that could not be read.
    var malformed: MalformedMessages
    /// What is to be done.
    var queue = ArchiveQueue()
    /// Sessions for which nothing will ever be done again.
    var settled: Set<SessionIdentifier> = []
    /// Why the last try of an upload that is under way failed.
    nonisolated let retries = Mutex<[SessionIdentifier: String]>([:])
    /// What was done since the program's start.
    var totals = Totals()
    nonisolated let uploadRetries = Atomic(0)
    /// How many events each session had so far.
    private var sequences: [SessionIdentifier: Int] = [:]
    /// Who waits for something to do.
    private var sleepers: [Int: AsyncStream<Void>.Continuation] = [:]
    private var nextSleeper = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Sets it up; nothing is done yet.
    init(settings: ArchiverSettings, on host: ServiceHost) throws {
        self.settings = settings
        folder = ArchiveDirectory(host.configuration.dataDirectory)
        maker = try ArchiveMaker(
            SessionArchiver(choices: settings.choices, recipients: settings.recipients), folder)
        uploader = try settings.uploads.uploader()
        keeper = try LogKeeper(on: host, endpoint: settings.logManager)
        health = host.health
        logger = host.logger
        malformed = MalformedMessages(health: host.health, logger: host.logger)
        events = host.publisher
        thread = try SocketThread(name: "archives")
    }

    /// Says what everybody should know before anything is done.
    func begin() {
        guard settings.recipients.isEmpty else { return }
        logger.warning("archives are not encrypted: no certificate is configured")
        health.report(.degraded, "archives are not encrypted: name the study's --certificate", for: "certificate")
    }

    /// Publishes what happened. What can't be sent is in the log.
    func publish(
        _ change: ArchiveEvent.Change, of session: SessionIdentifier, _ archive: ArchiveRecord.Archive? = nil,
        bytes: Int? = nil, location: String? = nil, failure: ArchiveFailure? = nil
    ) {
        let sequence = sequences[session, default: 0]
        sequences[session] = sequence + 1
        let event = ArchiveEvent(
            source: Self.source, sequence: sequence, session: session.text, change: change, date: .now,
            path: archive.map { ArchiveDirectory.path(of: $0.name) }, bytes: archive?.bytes ?? bytes,
            sha256: archive?.sha256, location: location, code: failure?.code, reason: failure?.reason)
        do {
            try events.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// Says in health what went wrong and has not gone right since.
    func reportFailures() {
        let kinds: [(key: String, what: String, Bool)] = [
            ("archiving", "could not be archived", false), ("delivery", "could not be uploaded or marked", true),
        ]
        for (key, what, isRefusal) in kinds {
            let failed = queue.failed.filter { $0.failure.isRefusal == isRefusal }
            guard let first = failed.first else {
                health.clear(key)
                continue
            }
            health.report(
                .degraded,
                "\(failed.count) session\(failed.count == 1 ? "" : "s") \(what); \(first.session): \(first.failure.reason)",
                for: key)
        }
    }

    // MARK: Waiting

    /// Waits until there may be something to do.
    func waitForWork() async throws {
        let (turn, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = nextSleeper
        nextSleeper += 1
        sleepers[number] = wake
        defer { sleepers[number] = nil }
        for await _ in turn { return }
        throw CancellationError()
    }

    /// Wakes everybody who waits for something to do.
    func wake() {
        for sleeper in sleepers.values { sleeper.yield() }
    }
}
