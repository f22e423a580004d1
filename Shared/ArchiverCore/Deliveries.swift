import ArchiveStorage
import DequeModule
import Logging
package import Messages
import Recording
import ServiceKit
package import Upload

/// The state and decisions of an archiver: when sessions are archived, and how each gets its receipt.
///
/// `Deliveries` receives events with their time and returns effects. The caller has files, sockets and a clock: it carries out
/// the effects and reports the results. Confined to one thread. The next step of a session depends only on the disk
/// (`ArchivePolicy`), so a kill at any moment loses nothing but time. Work on a session requires its claim; other archivers of
/// the same data directory take other sessions. The extensions cover finding sessions (`+sessions`), choosing work (`+work`),
/// uploading (`+delivery`), the steps after a receipt (`+settling`) and requests (`+requests`).
package final class Deliveries: ProgramCore {
    package struct Settings: Sendable {
        package let policy: ArchivePolicy
        package let retries: RetryPolicy
        /// The number of simultaneous uploads.
        package let uploads: Int
        /// The interval between scans of all sessions, in nanoseconds.
        package let rescanInterval: Int64
        /// The address of log-manager, for messages.
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

    /// Totals since the program's start.
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
    /// The source of jitter for upload retries.
    var random: any RandomNumberGenerator
    /// Pending work, in the order in which it must be done.
    package var effects: [Effect] = []
    package private(set) var nextDeadline = Int64.max

    // Sessions
    /// `unlooked`: sessions whose state must be read. `looking`: the one being read.
    var unlooked: Deque<SessionIdentifier> = []
    var looking: SessionIdentifier?
    var isScanning = false
    /// When all sessions are scanned again, on the monotonic clock; nil during a scan.
    var scanAt: Int64?
    /// Sessions for which nothing remains to be done.
    var settled: Set<SessionIdentifier> = []
    /// When the settled sessions are looked at again, on the monotonic clock.
    var forgetAt = Int64.min
    /// Sessions that were discarded while they were being worked on.
    var lookedTooEarly: Set<SessionIdentifier> = []

    // Work
    var queue = ArchiveQueue()
    /// The work in progress, each under the session's claim.
    var works: [SessionIdentifier: Work] = [:]
    /// Uploads in progress, including those that wait for their next attempt.
    var uploads: [SessionIdentifier: Upload] = [:]
    /// Until when log-manager is not contacted, on the monotonic clock.
    var awayUntil = Int64.min

    /// The number of events published for each session.
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
        // Wall-clock times are checked again in between: that clock may be set, and drifts against the monotonic clock.
        let latest = now.monotonic.adding(settings.rescanInterval)
        let next = min(scanAt ?? latest, queue.nextDue(after: now) ?? latest, latest)
        nextDeadline = next > now.monotonic ? next : latest
    }

    /// The numbers of sessions waiting and being worked on in a lane.
    package func counts(in lane: ArchiveLane) -> (waiting: Int, working: Int) { queue.counts(in: lane) }

    /// The number of sessions whose last attempt failed.
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

    /// Reports current failures to health.
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
