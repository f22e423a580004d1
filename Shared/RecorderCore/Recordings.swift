import DequeModule
import Files
import Logging
package import MessageBus
package import Messages
package import Recording
package import ServiceKit

/// Everything that a recorder knows and decides: the sessions in progress, and the streams that publishers describe.
///
/// It receives events with their time and returns effects. The caller has files, sockets and a clock: it carries the effects out
/// and reports the results. Confined to one thread. The work is in extensions: samples and descriptions (`+samples`), replay of
/// missing samples (`+recovery`), commits (`+commits`), stored records (`+documents`), the beginning of sessions (`+beginning`),
/// their end (`+ending`) and removal (`+discarding`), checks of requests (`+requests`), removal of old files (`+ring`), failed
/// sensors and wrong clocks (`+watch`), and how far the recorder is behind (`+lag`).
package final class Recordings: ListeningCore {
    /// Times are in nanoseconds.
    package struct Settings: Sendable {
        /// How often written data is made durable.
        package let syncInterval: Int64
        /// How long a publisher that does not answer is asked for missing samples.
        package let recoveryLimit: Int64
        /// Most bytes that may wait for samples before them.
        package let holdLimit: Int
        /// Bytes that must stay free on the disk.
        package let minimumFree: Int
        /// The devices to record; nil for all.
        package let shard: Shard?
        /// How long after its confirmed upload a session is discarded; nil for never.
        package let keepSessions: Int64?

        package init(
            syncInterval: Int64, recoveryLimit: Int64, holdLimit: Int, minimumFree: Int, shard: Shard?,
            keepSessions: Int64? = nil
        ) {
            self.syncInterval = syncInterval
            self.recoveryLimit = recoveryLimit
            self.holdLimit = holdLimit
            self.minimumFree = minimumFree
            self.shard = shard
            self.keepSessions = keepSessions
        }
    }

    /// The sessions and streams that get the batches of a topic.
    package final class Route {
        package let recordings: [(session: Session, stream: StreamRecording)]
        package var reader = SampleBodyReader()

        init(_ recordings: [(session: Session, stream: StreamRecording)]) { self.recordings = recordings }
    }

    /// Bytes that may be on their way into files. Beyond that, take nothing from the network.
    package static let maximumBacklog = 64 << 20
    /// How often the free disk space is measured.
    private static let diskInterval = TimeSpan.seconds(1).nanoseconds

    package let settings: Settings
    let checkpointScale: Int
    /// The effects to carry out, in this order.
    package var effects: [Effect] = []

    package internal(set) var sessions: [SessionIdentifier: Session] = [:]
    /// Sessions that are over, but whose end could not be stored; storing is retried.
    package internal(set) var unstored: [SessionIdentifier: Session] = [:]
    /// Those of `unstored` whose directories somebody removed: they no longer need the write-ahead log.
    package var removedSessions: Set<SessionIdentifier> = []
    /// Positions in the write-ahead log that are needed by sessions whose ends could not be stored and are not retried.
    var leftToNextStart: [Int] = []
    /// Positions in the write-ahead log that are needed by interrupted sessions which could not be resumed.
    package var interrupted: [Int] = []
    /// Sessions whose files are being made, and the positions in the write-ahead log that they will need.
    package var starting: [SessionIdentifier: Int] = [:]
    /// The stages of the sessions that are being ended.
    var endings: [SessionIdentifier: Ending] = [:]
    /// Sessions that are to be stopped.
    var unstopped: Deque<SessionIdentifier> = []
    /// When stopping sessions must end their waiting, on the monotonic clock: set when the program ends.
    package internal(set) var shutdownDeadline: Int64?
    /// Whether every session is being ended, because the program is about to end.
    var isStoppingAll = false
    /// The last block that must be in files, if sessions stay open when the program ends.
    var leftBlock: Int?

    // Durability
    let appender: LogAppender
    let held: HeldBytes
    var pace: CommitPace
    var commit: Commit?
    /// When to commit the waiting data, on the monotonic clock; nil if no data waits, or a commit is under way.
    package internal(set) var commitAt: Int64?
    /// When `tick` is due, on the monotonic clock.
    private var tickAt: Int64 = 0
    private var lookedAtDiskAt: Int64 = 0
    /// Bytes free on the disk at the last measurement; nil before the first one, or if unknown.
    package internal(set) var freeBytes: Int?
    /// The numbers of blocks handed over to be committed, of blocks whose commit ended, and of blocks in files.
    var takenBlocks = 0
    var committedBlocks = 0
    var writtenBlocks = 0
    /// The block up to which commits must not wait for more data.
    var demandedBlocks = 0
    /// Committed blocks that are not in files yet; and their bytes, with those of the block being committed.
    var unwritten: Deque<LogBlock> = []
    package internal(set) var backlogBytes = 0
    /// The position in the write-ahead log up to which everything was written into files.
    var writtenEnd: Int
    /// The end of the last block that became durable.
    var committedEnd: Int
    var fileWork: FileWork?
    /// Whether some records are held back from their files, and whether it is time to write them.
    var areFilesBehind = false
    var areFilesDue = false
    /// Sessions with a file that could not be written.
    var brokenFiles: Set<SessionIdentifier> = []
    /// The number of removals of log segments under way.
    var logRemovals = 0
    /// The size of the write-ahead log, in bytes.
    package internal(set) var logBytes = 0
    var document: DocumentWork?
    /// Sessions to check next for changes that are not stored.
    var unlooked: Deque<SessionIdentifier> = []
    /// Whether all sessions must be checked again.
    var isStoringDue = false
    var storedAgainAt: Int64 = 0

    var discards = Discards()

    var ringRemoval: RingRemoval?
    /// When old files are searched for next, on the monotonic clock.
    var ringAt: Int64 = 0

    // Streams
    /// When each stream was described, by its publisher's replay address.
    package internal(set) var described: [StreamName: [String: Hearing]] = [:]
    /// The last description of each stream, and the last one of its publisher's previous run: a session that begins in the past
    /// may need to know of that run.
    var runs: [StreamName: (last: FormerRun, former: FormerRun?)] = [:]
    package internal(set) var configurations = LogConfigurations()
    /// Logs that log-manager is to be asked about.
    var unasked: Set<LogName> = []
    /// Streams that a session wants but whose logs wait for log-manager's answer, and when the streams were described.
    var waiting: [StreamName: (description: StreamDescription, time: Int64)] = [:]
    var routes = TopicTable<Route>()
    var descriptions = StreamDescriptions()
    /// Seconds that wrong clocks of publishers are ahead of this machine's, by replay address.
    var wrongClocks: [String: Double] = [:]
    package internal(set) var lag = RecorderLag()
    /// When the newest batch taken since `endBatches` was published, in nanoseconds since 1970.
    var newest: Int64 = 0
    /// When streams and clocks were last checked, on the monotonic clock.
    var watchedAt: Int64 = 0

    // Measures
    /// Times from publication to commit.
    package internal(set) var latencies = LatencyHistogram()
    package internal(set) var commitTimes = LatencyHistogram()

    /// Creates a recorder without sessions.
    /// - Parameters:
    ///   - log: the write-ahead log's identifier.
    ///   - position: where the log ends.
    ///   - segmentLength: bytes after which a new segment of the log begins.
    ///   - checkpointScale: factor by which fewer bytes than usual come between two checkpoints.
    package init(
        _ settings: Settings, log: String, position: Int, segmentLength: Int = LogAppender.segmentLength,
        checkpointScale: Int = 1
    ) {
        self.settings = settings
        self.checkpointScale = checkpointScale
        appender = LogAppender(log: log, position: position, segmentLength: segmentLength)
        held = HeldBytes(limit: settings.holdLimit)
        pace = CommitPace(interval: settings.syncInterval)
        writtenEnd = position
        committedEnd = position
    }

    /// The position in the write-ahead log of a session that is added now.
    package var logPosition: LogPosition {
        LogPosition(log: appender.log, recorded: committedEnd, written: appender.position)
    }

    /// Whether every session has ended, or is stored to be resumed, and no work is left.
    package var isIdle: Bool {
        if let leftBlock { return endings.keys.allSatisfy(isLeftToNextStart) && writtenBlocks >= leftBlock }
        return sessions.isEmpty && logRemovals == 0
    }

    package var nextDeadline: Int64 { min(tickAt, commitAt ?? .max) }

    package func wake(at now: Moment) {
        guard now.monotonic >= tickAt else { return advance(at: now) }
        tickAt = now.monotonic + settings.syncInterval
        if now.monotonic >= lookedAtDiskAt + Self.diskInterval {
            lookedAtDiskAt = now.monotonic
            emit(.lookAtDisk)
        }
        tick(at: now)
    }

    /// Starts all work that has become possible. Every method that changes something calls it, unless its comment says otherwise.
    package func advance(at now: Moment) {
        while let identifier = unstopped.popFirst() { beginStop(identifier, at: now) }
        advanceEndings(at: now)
        advanceDiscards(at: now)
        advanceRings(at: now)
        advanceDocuments(at: now)
        advanceFiles()
        advanceCommits(at: now)
    }

    // MARK: Telling

    /// Publishes that a session changed. Never publish a change that a power cut may undo: commit it first.
    package func publish(
        _ change: RecordingEvent.Change, of session: Session, at now: Moment, stream: StreamName? = nil,
        gap: Gap? = nil, annotation: Annotation? = nil, reason: String? = nil, report: SessionReport? = nil
    ) {
        let event = RecordingEvent(
            source: Program.recorder.rawValue, sequence: session.eventSequence, session: session.identifier.text,
            date: now.date, change: change, status: session.status.rawValue, step: session.timeline.current.stepPath,
            stream: stream, gap: gap, reason: reason, report: report, annotation: annotation)
        session.eventSequence += 1
        emit(.publish(event))
    }

    /// Publishes that an annotation was added to a session that is over.
    package func publish(_ annotation: Annotation, of record: SessionRecord) {
        emit(
            .publish(
                RecordingEvent(
                    source: Program.recorder.rawValue, sequence: 0, session: record.session.text, date: annotation.date,
                    change: .annotation, status: record.status.rawValue, step: "", stream: annotation.stream,
                    annotation: annotation)))
    }

    func log(_ level: Logger.Level, _ message: Logger.Message, _ session: Session, _ more: Logger.Metadata = [:]) {
        emit(.log(level, message, more.merging(["session": "\(session.identifier)"]) { first, _ in first }))
    }

    /// Publishes and logs gaps that were not published before.
    func announceGaps(of stream: StreamRecording, in session: Session, at now: Moment) {
        for gap in stream.takeNewGaps() {
            var metadata: Logger.Metadata = [
                "stream": "\(stream.name)", "from": "\(gap.from)", "count": "\(gap.count)",
                "reason": "\(gap.reason.rawValue)",
            ]
            if gap.reason == .malformed, let fault = stream.lastFault { metadata[LogKey.error] = "\(fault)" }
            log(.error, "samples lost", session, metadata)
            publish(.gap, of: session, at: now, stream: stream.name, gap: gap)
        }
    }

    /// Fails a session. Data on disk stays valid. Call `advance` next.
    package func fail(_ session: Session, _ error: any Error, at now: Moment) {
        let isFull = (error as? RecordingError)?.code == .noSpace
        // A full disk is one failure, whichever file finds no space first.
        if isFull, session.status == .failed { return }
        guard session.fail("\(error)") else { return }
        // Freeing reserved space lets samples in memory be written.
        if isFull { emit(.release(.samples)) }
        log(.error, "recording failed", session, [LogKey.error: "\(error)"])
        emit(.degraded("session \(session.identifier) failed: \(error)", for: "session"))
        publish(.failure, of: session, at: now, reason: "\(error)")
        routes = TopicTable()
        unstopped.append(session.identifier)
    }
}
