import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import StepCounterCore
import StepStorage
import ZeroMQ

/// Runs a step-counter: passes to `StepCounting` what happens and when, carries out its effects, and answers requests.
///
/// An actor on a thread of its own, where the detectors run. Its work is in extensions: what is to be done (`+effects`), what is
/// asked (`+requests`), what it counts (`+metrics`).
actor StepEngine {
    let settings: StepCounterSettings
    let core: StepCounting
    /// Held as long as the program runs: no other program counts into this data directory.
    private let lock: DataLock
    let history: HistoryThread<StepHistory>
    let reader: HistoryThread<StepHistoryReader>
    let events: EventPublisher
    let health: Health
    let logger: Logger
    let thread: SocketThread
    let listener: Listener
    let publishers: Publishers
    nonisolated let queues = EffectQueues()
    var malformed: MalformedMessages
    /// A cancelled task ends its own wait by itself.
    private var waits = WaitList()
    /// Raised if samples or steps were lost in this run.
    nonisolated let loss = LossFlag()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the history of a data directory, and continues where the program last ended.
    /// - Throws: `RecordingError` if another step-counter has it, or it can't be read.
    init(settings: StepCounterSettings, host: ServiceHost, listener: Listener) throws {
        self.settings = settings
        self.listener = listener
        let data = host.configuration.dataDirectory
        lock = try DataLock.acquire(
            in: data, directory: StepHistory.directoryName, for: Program.stepCounter.rawValue)
        let history = try StepHistory(in: data, at: .now)
        core = StepCounting(
            settings.counting, positions: try history.positions(), subscriptions: try history.subscriptions(), at: .now)
        self.history = try HistoryThread(name: "history", history)
        reader = try HistoryThread(
            name: "queries", StepHistoryReader(in: data, keep: settings.counting.keep))
        events = host.publisher
        health = host.health
        logger = host.logger
        malformed = MalformedMessages(health: host.health, logger: host.logger)
        thread = try SocketThread(name: "steps")
        publishers = host.peers.publishers
    }

    /// Takes what was received.
    func take(_ batch: MessageBatch) {
        let now = Moment.now
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let description = try core.take(EventFrames(message, of: messages), at: now)
                    if let description, let origin = messages.origin(of: message) {
                        publishers.note(description.replay, heardFrom: origin)
                    }
                } catch {
                    malformed.note(error)
                }
            }
        }
        perform()
    }

    /// Does what is due by time, until the task is cancelled.
    func tickRegularly() async throws {
        var tick = MonotonicClock.now
        while true {
            tick = max(tick + TimeSpan.seconds(1).nanoseconds, MonotonicClock.now)
            try await thread.sleep(until: tick)
            core.tick(at: .now)
            measure()
            perform()
        }
    }

    /// Takes nothing more, and commits what there is.
    func finish() async {
        core.stop(at: .now)
        perform()
        try? await wait { [core] in core.isOver }
    }

    // MARK: Waiting

    /// Returns when something is so. Whatever can make it so is followed by `perform`.
    func wait(for isSo: @escaping () -> Bool) async throws {
        if isSo() { return }
        let over = waits.add(until: .max, group: nil, for: isSo)
        for await _ in over {}
        try Task.checkCancellation()
    }

    /// Ends the waits for what is so now.
    func resumeWaits() { waits.resume(at: MonotonicClock.now) }
}
