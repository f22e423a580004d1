import ArchiveStorage
import DequeModule
import Logging
package import Messages
import Recording
import ServiceKit
package import Upload

/// Everything that an archiver knows and decides: which sessions are archived when, and how each gets from its end to its
/// receipt.
///
/// It receives events with their time and returns effects. The caller has files, sockets and a clock: it carries the effects out
/// and reports the results. Confined to one thread. What is next for a session is decided from the disk alone
/// (`ArchivePolicy`), so a kill at any moment loses nothing but time. A session is worked on under its claim only: other
/// archivers of the same data directory take the others. Its work is in extensions: which sessions there are (`+sessions`),
/// who is worked on when (`+work`), how an archive gets to its receiver (`+delivery`), what is done after its receipt
/// (`+settling`), what is asked (`+requests`).
package final class Deliveries: ProgramCore {
    package struct Settings: Sendable {
        package let policy: ArchivePolicy
        package let retries: RetryPolicy
        /// How many archives are uploaded at a time.
        package let uploads: Int
        /// How often all sessions are looked at, in nanoseconds.
        package let rescanInterval: Int64
        /// Where log-manager is, for messages.
        package let logManager: String

        package init(
            policy: ArchivePolicy, retries: RetryPolicy, uploads: Int, rescanInterval: Int64, logManager: String
        ) {
            self.policy = policy
            self.retries = retries
            self.uploads = uploads
            self.rescanInterval = rescanInterval
            self.logManager = logManager
        }
    }

    /// What was done since the program's start.
    package struct Totals: Sendable {
        package var made = (archives: 0, bytes: 0)
        package var uploaded = (archives: 0, bytes: 0)
        package var uploadRetries = 0
        package var receipts = 0
        package var markedFiles = 0
        package var failures = 0
        package var refusals = 0
    }

    let settings: Settings
    /// Spreads the pauses between tries of an upload.
    var random: any RandomNumberGenerator
    /// What is to be done, in this order.
    package var effects: [Effect] = []
    package private(set) var nextDeadline = Int64.max

    // Sessions
    /// Sessions that are to be looked at, and the one that is.
    var unlooked: Deque<SessionIdentifier> = []
    var looking: SessionIdentifier?
    var isScanning = false
    /// When all sessions are to be looked at again, on the monotonic clock; nil while they are.
    var scanAt: Int64?
    /// Sessions for which nothing is to be done any more.
    var settled: Set<SessionIdentifier> = []
    /// When these are looked at again, on the monotonic clock.
    var forgetAt = Int64.min
    /// Sessions that were discarded while they were worked on.
    var lookedTooEarly: Set<SessionIdentifier> = []

    // Work
    var queue = ArchiveQueue()
    /// What is being done, each under the session's claim.
    var works: [SessionIdentifier: Work] = [:]
    /// Uploads that began, those included that wait for their next try.
    var uploads: [SessionIdentifier: Upload] = [:]
    /// Until when log-manager is left alone, on the monotonic clock.
    var awayUntil = Int64.min

    /// How many events each session had so far.
    private var sequences: [SessionIdentifier: Int] = [:]
    package internal(set) var totals = Totals()

    package init(_ settings: Settings, random: any RandomNumberGenerator = SystemRandomNumberGenerator()) {
        self.settings = settings
        self.random = random
    }

    /// Begins to look for sessions.
    package func begin(at now: Moment) {
        if !settings.policy.encrypts {
            emit(.log(.warning, "archives are not encrypted: no certificate is configured", [:]))
            emit(.degraded("archives are not encrypted: name the study's --certificate", for: "certificate"))
        }
        scan(at: now)
    }

    package func wake(at now: Moment) { advance(at: now) }

    /// Starts all work that has become possible.
    package func advance(at now: Moment) {
        advanceLooks(at: now)
        advanceWork(at: now)
        // Dates are looked at again in between: a clock may be set, and is never quite as fast as the other.
        let latest = now.monotonic.adding(settings.rescanInterval)
        let next = min(scanAt ?? latest, queue.nextDue(after: now) ?? latest, latest)
        nextDeadline = next > now.monotonic ? next : latest
    }

    /// How many sessions wait in a lane, and how many are being worked on.
    package func counts(in lane: ArchiveLane) -> (waiting: Int, working: Int) { queue.counts(in: lane) }

    /// How many sessions failed and have not succeeded since.
    package func failedSessions(isRefusal: Bool) -> Int { queue.failed(isRefusal: isRefusal)?.count ?? 0 }

    // MARK: Telling

    func publish(
        _ change: ArchiveEvent.Change, of session: SessionIdentifier, _ archive: ArchiveRecord.Archive? = nil,
        path: String? = nil, bytes: Int? = nil, location: String? = nil, failure: ArchiveFailure? = nil, at now: Moment
    ) {
        let sequence = sequences[session, default: 0]
        sequences[session] = sequence + 1
        emit(
            .publish(
                ArchiveEvent(
                    source: Program.archiver.rawValue, sequence: sequence, session: session.text, change: change,
                    date: now.date, path: archive.map { ArchiveDirectory.path(of: $0.name) } ?? path,
                    bytes: archive?.bytes ?? bytes, sha256: archive?.sha256, location: location, code: failure?.code,
                    reason: failure?.reason)))
    }

    func log(
        _ level: Logger.Level, _ message: Logger.Message, _ session: SessionIdentifier, _ more: Logger.Metadata = [:]
    ) {
        emit(.log(level, message, more.merging(["session": "\(session)"]) { first, _ in first }))
    }

    /// Reports to health what went wrong and has not gone right since.
    func reportFailures() {
        let kinds: [(key: String, what: String, isRefusal: Bool)] = [
            ("archiving", "could not be archived", false),
            ("delivery", "could not be uploaded, marked or cleaned up", true),
        ]
        for (key, what, isRefusal) in kinds {
            guard let (count, first, reason) = queue.failed(isRefusal: isRefusal) else {
                emit(.clear(key))
                continue
            }
            emit(.degraded("\(count.counted("session")) \(what); \(first): \(reason)", for: key))
        }
    }
}
