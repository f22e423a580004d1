import DequeModule
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// Everything that log-manager decides: which thresholds are crossed, which stream files are marked, and which are removed.
///
/// It receives events with their time and returns effects. The caller has the catalog, the disk and a clock: it carries the
/// effects out and reports the results. Confined to one thread. Its work is in extensions: changes of the catalog
/// (`+changes`), thresholds (`+thresholds`), marks (`+marks`), removal (`+removal`), what the disk has (`+disk`), requests
/// about logs (`+logs`).
package final class StreamFiles: ProgramCore {
    package struct Settings: Sendable {
        /// Thresholds that were given; the others stay as they were set last.
        package let thresholds: LogsSetThresholds
        package let whenFull: RetentionPolicy
        /// How often the disk is compared with the catalog, in nanoseconds.
        package let rescanInterval: Int64
        /// How logs are to be written that no rule is about: bytes and seconds, 0 for no limit.
        package let maximumFileSize: Int
        package let maximumFileAge: Double

        package init(
            thresholds: LogsSetThresholds, whenFull: RetentionPolicy, rescanInterval: Int64,
            maximumFileSize: Int = LogConfiguration.defaultMaximumFileSize,
            maximumFileAge: Double = LogConfiguration.defaultMaximumFileAge
        ) {
            self.thresholds = thresholds
            self.whenFull = whenFull
            self.rescanInterval = rescanInterval
            self.maximumFileSize = maximumFileSize
            self.maximumFileAge = maximumFileAge
        }
    }

    package enum State {
        /// Carry out the effects until it is another one.
        case starting
        case running
        case failed(RecordingError)
    }

    /// How soon the disk is compared with the catalog again, and a removal completed, after a failure.
    static let retryInterval = TimeSpan.seconds(5).nanoseconds
    private static let tickInterval = TimeSpan.seconds(1).nanoseconds

    let settings: Settings
    let catalog: any CatalogReader
    /// How many files are removed at once: between pieces others have their turn.
    let pieceSize: Int
    /// Whether nothing is to be removed, marked or published: only what would be removed is to be found out.
    let isDryRun: Bool
    package internal(set) var state = State.starting
    package var effects: [Effect] = []
    package private(set) var nextDeadline = Int64.min
    /// How many events each log had.
    private var sequences: [String: Int] = [:]

    // Changes
    var nextNumber = 0
    /// Changes whose result has not come, by their number.
    var changes: [Int: PendingChange] = [:]
    /// Whether the catalog could not be kept since the disk was compared last.
    var hasCatalogFailed = false

    // Thresholds
    /// Thresholds of which a crossing is being stored.
    var storedKinds: Set<Threshold.Kind> = []
    /// Bytes free on the disk, when it was looked at last; nil if that is unknown.
    package internal(set) var freeBytes: Int?

    // Marks and removals
    /// What looks at files are for, by their number.
    var looks: [Int: Look] = [:]
    /// Removals, one after the other: the first is under way.
    var removals: Deque<Removal> = []
    var cleanUp = CleanUp.idle
    /// Removals that were published, and that the ledger could not forget yet, by the files' numbers.
    var publishedRemovals: Set<Int64> = []
    /// When a clean-up may begin that follows one which could remove nothing, on the monotonic clock.
    var cleanUpAt = Int64.min
    /// When files are looked at again that stayed in the ledger, on the monotonic clock; nil if there are none.
    var completionAt: Int64?
    /// What was removed since the start.
    package internal(set) var removedUsage: [RemovalReason: LogUsage] = [:]
    package internal(set) var markedFiles = 0

    /// What remains of sessions that are over, and which of them must not go.
    var remains: [SessionIdentifier: SessionRemains] = [:]
    var keptRemains: Set<SessionIdentifier> = []
    /// Sessions that are being erased; and those whose removal was published, until they are erased.
    var erasingRemains: Set<SessionIdentifier> = []
    var publishedRemains: Set<SessionIdentifier> = []

    // The disk
    /// Logs that were being written when somebody looked last. Look before a request that names a log.
    package var currentLogs: Set<LogName> = []
    var comparison: Comparison?
    /// The session that is being compared.
    var compared: SessionIdentifier?
    /// Sessions that are to be compared soon.
    var unseen: Deque<SessionIdentifier> = []
    /// When all is compared next, on the monotonic clock; and before when not, even after a failure.
    var comparisonAt = Int64.min
    var retryAt = Int64.min
    /// Whether all is to be compared soon: files may have been finished unheard.
    var isComparisonWanted = false

    /// - Parameter catalog: what is durable, as it is after each change.
    package init(_ settings: Settings, catalog: any CatalogReader, isDryRun: Bool = false, pieceSize: Int = 128) {
        self.settings = settings
        self.catalog = catalog
        self.isDryRun = isDryRun
        self.pieceSize = pieceSize
    }

    /// Completes removals that were interrupted, compares the disk with the catalog, and sets the thresholds that were given.
    package func start(at now: Moment) {
        if !isDryRun { emit(.restoreReserve) }
        emit(.lookAtDisk)
        if isDryRun { beginComparison(at: now) } else { completeRemovals(at: now) }
        advance(at: now)
    }

    package func wake(at now: Moment) {
        nextDeadline = now.monotonic + Self.tickInterval
        tick(at: now)
    }

    /// Does what is due by time. Each second.
    package func tick(at now: Moment) {
        emit(.restoreReserve)
        emit(.lookAtDisk)
        if comparison == nil,
            now.monotonic >= comparisonAt || now.monotonic >= retryAt && (hasCatalogFailed || isComparisonWanted)
        {
            beginComparison(at: now)
        }
        if let completionAt, now.monotonic >= completionAt, removals.isEmpty { completeRemovals(at: now) }
        advance(at: now)
    }

    func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        emit(.log(level, message, metadata))
    }

    /// Starts all work that has become possible.
    func advance(at now: Moment) {
        advanceComparison(at: now)
        advanceRemovals(at: now)
    }

    func publish(
        _ change: LogFileEvent.Change, of name: String, at now: Moment, path: String? = nil, bytes: Int? = nil,
        reason: String? = nil, threshold: Threshold.Kind? = nil, limit: Int? = nil
    ) {
        let sequence = sequences[name, default: 0]
        sequences[name] = sequence + 1
        emit(
            .publish(
                LogFileEvent(
                    source: Program.logManager.rawValue, sequence: sequence, name: name, change: change,
                    date: now.date, path: path, bytes: bytes, reason: reason, threshold: threshold?.rawValue,
                    limit: limit)))
    }
}
