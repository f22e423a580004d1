import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import StepDetection
import SystemPackage
import ZeroMQ

/// Everything that step-counter knows: the devices that are counted, who wants to hear of their steps, and what is not in
/// the history yet.
///
/// An actor on a thread of its own, where the detectors run. Nothing there waits: the history is written by a
/// `StepHistoryStore` and read by a `StepHistoryReader`, and publishers are asked by the service. Its work is in extensions:
/// what arrives (`+samples`), what is missing (`+recovery`), what is found (`+findings`), what becomes durable
/// (`+commits`), what is asked (`+requests`), how it is (`+watch`), what it counts (`+metrics`).
actor StepEngine {
    /// The program's name, as the source of its events.
    static let source = Program.stepCounter.rawValue

    let settings: StepCounterSettings
    /// Kept as long as the program runs: nobody else counts into this data directory.
    private let lock: DataLock
    let keeper: StepHistoryStore
    let reader: StepHistoryReader
    let events: EventPublisher
    let health: Health
    let logger: Logger
    let thread: SocketThread
    let listener: Listener
    nonisolated let publishers: Publishers
    /// Streams that begin to miss samples: each is in here once until it misses none.
    nonisolated let recoveries: AsyncStream<StreamName>
    let recovering: AsyncStream<StreamName>.Continuation
    /// Woken where somebody waits for a commit.
    nonisolated let commitsWanted: AsyncStream<Void>
    let commitContinuation: AsyncStream<Void>.Continuation
    let startedAt = MonotonicClock.now

    var counters: [StreamName: DeviceCounter] = [:]
    /// The same, in the order in which they came.
    var order: [DeviceCounter] = []
    /// The stream that each device is counted in.
    var streams: [String: StreamName] = [:]
    var topics = TopicTable<DeviceCounter>()
    var descriptions = StreamDescriptions()
    var newTopics: [String] = []
    /// Streams as they were counted before this program started, until they are heard of.
    var stored: [StreamName: StreamPosition] = [:]
    /// Bytes that wait for samples before them.
    var heldBytes = 0
    var subscriptions = StepSubscriptions()

    /// What is to be in the next commit, besides positions.
    var pending = StepCommit()
    var pendingSteps = 0
    var commitsBegun = 0
    var commitsEnded = 0
    var isCommitting = false
    /// Whether the last commit failed.
    var isFailing = false
    /// Steps that found no room in memory while the history could not be written.
    var droppedSteps = 0

    /// When a publisher was heard last, on `MonotonicClock`.
    var heard: Int64
    var malformed: MalformedMessages
    var samplesLost = 0
    var stepsCounted = 0
    /// From publication to counting.
    var delays = LatencyHistogram()
    /// Streams that can't be counted, and why.
    var refused: [StreamName: String] = [:]
    /// Of which stream samples were lost last, and when.
    var lastGap: (stream: StreamName, instant: Int64)?
    var isStopping = false
    /// Raised where samples were lost in this run.
    nonisolated let loss = LossFlag()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the history.
    /// - Throws: `RecordingError` where another step-counter has it, or it can't be read.
    init(settings: StepCounterSettings, host: ServiceHost, listener: Listener) throws {
        self.settings = settings
        self.listener = listener
        let data = host.configuration.dataDirectory
        lock = try DataLock.acquire(
            in: data, directory: StepHistory.directoryName, for: Program.stepCounter.rawValue)
        keeper = try StepHistoryStore(in: data)
        reader = try StepHistoryReader(in: data, keep: settings.keep)
        events = host.publisher
        health = host.health
        logger = host.logger
        malformed = MalformedMessages(health: host.health, logger: host.logger)
        thread = try SocketThread(name: "steps")
        publishers = host.peers.publishers
        (recoveries, recovering) = AsyncStream.makeStream(of: StreamName.self, bufferingPolicy: .unbounded)
        (commitsWanted, commitContinuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        heard = MonotonicClock.now
    }

    /// Goes on where the program ended last. Call it once, before anything else.
    func begin() async throws {
        let (positions, subscriptions) = try await keeper.stored()
        stored = positions.filter { settings.streams.contains($0.key.stream) }
        self.subscriptions = StepSubscriptions(subscriptions)
    }
}
