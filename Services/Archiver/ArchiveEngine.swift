import ArchiveStorage
import ArchiverCore
import Archives
import Files
import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import Upload
import ZeroMQ

/// Runs an archiver: tells `Deliveries` what happens and when, carries out what it asks for, and answers requests.
///
/// An actor on a thread of its own, since it waits for the disk; archives are made and uploaded on others. Its work is in
/// extensions: what is to be done (`+effects`), what is asked (`+requests`), what it counts (`+metrics`).
actor ArchiveEngine {
    let core: Deliveries
    let folder: ArchiveDirectory
    let maker: ArchiveMaker
    /// Nil if archives stay here.
    let uploader: Uploader?
    let logManager: LogManagerClient
    let health: Health
    let logger: Logger
    let events: EventPublisher
    let thread: SocketThread
    nonisolated let queues = EffectQueues()
    /// Of the sessions that are being worked on.
    var claims: [SessionIdentifier: DirectoryLock] = [:]
    private var malformed: MalformedMessages

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(settings: ArchiverSettings, on host: ServiceHost) throws {
        core = Deliveries(
            Deliveries.Settings(
                policy: settings.policy, retries: settings.uploads.policy, uploads: settings.uploads.count,
                rescanInterval: settings.rescanInterval.nanoseconds, logManager: settings.logManager.description))
        folder = ArchiveDirectory(host.configuration.dataDirectory)
        maker = try ArchiveMaker(SessionArchiver(choices: settings.choices, recipients: settings.recipients), folder)
        uploader = try settings.uploads.uploader()
        logManager = try LogManagerClient(on: host, endpoint: settings.logManager)
        health = host.health
        logger = host.logger
        malformed = MalformedMessages(health: host.health, logger: host.logger)
        events = host.publisher
        thread = try SocketThread(name: "archives")
    }

    /// Begins to look for sessions.
    func begin() {
        core.begin(at: .now)
        perform()
    }

    /// Looks at all sessions.
    func scan() {
        core.scan(at: .now)
        perform()
    }

    /// Gives back the claims of sessions whose work was interrupted: an archiver that ends leaves none.
    func releaseClaims() { claims = [:] }

    /// Takes events of recorders.
    func take(_ batch: MessageBatch) {
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let event = try EventFrames(message, of: messages).decode(RecordingEvent.self)
                    guard SessionStatus(rawValue: event.status)?.isOver ?? false,
                        let session = try? SessionIdentifier(event.session)
                    else { continue }
                    core.ended(session, at: .now)
                } catch {
                    malformed.note(error)
                }
            }
        }
        perform()
    }
}
