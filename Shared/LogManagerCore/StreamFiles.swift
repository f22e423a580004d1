import DequeModule
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// Everything that log-manager decides: which thresholds are crossed, which stream files are marked, and which are removed.
///
/// It receives events with their time and returns effects. The caller owns the catalog, the disk and a clock; it carries the
/// effects out and reports the results. Confined to one thread. Extensions hold the parts: changes of the catalog (`+changes`),
/// thresholds (`+thresholds`), marks (`+marks`), removal (`+removal`), remains of sessions (`+remains`), the disk (`+disk`),
/// rules and lists (`+logs`).
package final class StreamFiles: ProgramCore {
    package struct Settings: Sendable {
        /// Thresholds that the user gave; the others keep their last value.
        package let thresholds: LogsSetThresholds
        package let whenFull: RetentionPolicy
        /// Interval between comparisons of the disk with the catalog, in nanoseconds.
        package let rescanInterval: Int64
        /// For logs that no rule matches: bytes and seconds, 0 for no limit.
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
        /// Carry out the effects until the state changes.
        case starting
        case running
        case failed(RecordingError)
    }

    /// Delay before the disk is compared again, or a removal completed, after a failure; in nanoseconds.
    static let retryInterval = TimeSpan.seconds(5).nanoseconds
    private static let tickInterval = TimeSpan.seconds(1).nanoseconds

    let settings: Settings
    let catalog: any CatalogReader
    /// How many files are removed at once; other work has its turn between pieces.
    let pieceSize: Int
    /// Whether to find out only what would be removed: nothing is removed, marked or published.
    let isDryRun: Bool
    package internal(set) var state = State.starting
    package var effects: [Effect] = []
    package private(set) var nextDeadline = Int64.min
    /// The number of events published so far, by log.
    private var sequences: [String: Int] = [:]

    // Changes
    var nextNumber = 0
    /// Changes whose result is pending, by their number.
    var changes: [Int: PendingChange] = [:]
    /// Whether the catalog could not be written since the last comparison of the disk.
    var hasCatalogFailed = false

    // Thresholds
    /// Thresholds whose crossing is being stored.
    var storedKinds: Set<Threshold.Kind> = []
    /// Bytes free on the disk at the last look; nil if unknown.
    package internal(set) var freeBytes: Int?

    // Marks and removals
    /// The work behind each pending look at files, by the look's number.
    var looks: [Int: Look] = [:]
    /// Removals run one after the other; the first is running.
    var removals: Deque<Removal> = []
    var cleanUp = CleanUp.idle
    /// Numbers of files whose removal was published, but which are still in the ledger.
    var publishedRemovals: Set<Int64> = []
    /// Earliest time of the next clean-up after one that could remove nothing, on the monotonic clock.
    var cleanUpAt = Int64.min
    /// Nil unless the last clean-up began because of too little free space.
    var freedSpace: FreedSpace?
    /// When removals left in the ledger are tried again, on the monotonic clock; nil if there are none.
    var completionAt: Int64?
    /// Files removed since the start.
    package internal(set) var removedUsage: [RemovalReason: LogUsage] = [:]
    package internal(set) var markedFiles = 0

    /// The remains of sessions that are over, and the sessions among them that must stay.
    var remains: [SessionIdentifier: SessionRemains] = [:]
    var keptRemains: Set<SessionIdentifier> = []
    /// Sessions being erased, and sessions whose removal was published but which are not erased yet.
    var erasingRemains: Set<SessionIdentifier> = []
    var publishedRemains: Set<SessionIdentifier> = []

    // The disk
    /// Logs that were being written at the last look. Update before a request that names a log.
    package var currentLogs: Set<LogName> = []
    var comparison: Comparison?
    /// The session being compared.
    var compared: SessionIdentifier?
    /// Sessions to be compared soon.
    var unseen: Deque<SessionIdentifier> = []
    /// When the next comparison of all sessions is due, and the earliest time of one after a failure; on the monotonic clock.
    var comparisonAt = Int64.min
    var retryAt = Int64.min
    /// Whether all sessions are to be compared soon, because announcements of finished files may have been missed.
    var isComparisonWanted = false

    /// - Parameter catalog: the durable state, current after each change.
    package init(_ settings: Settings, catalog: any CatalogReader, isDryRun: Bool = false, pieceSize: Int = 128) {
        self.settings = settings
        self.catalog = catalog
        self.isDryRun = isDryRun
        self.pieceSize = pieceSize
    }

    /// Completes interrupted removals, compares the disk with the catalog, and sets the thresholds from the settings.
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

    /// Does the work that is due; called each second.
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
