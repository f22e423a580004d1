import MessageBus
import Messages
import Recording
import Runtime
import ServiceKit
import StepCounterCore
import StepStorage
import ZeroMQ

/// Runs a step-counter: passes events with their times to `StepCounting`, carries out its effects, and answers requests.
///
/// Runs on a thread of its own, with the detectors. Its work is in extensions: effects (`+effects`), requests (`+requests`),
/// measurements (`+metrics`).
actor StepEngine: Engine {
    let thread: SocketThread
    let runtime: Runtime<StepCounting.Effect, Queue>
    let core: StepCounting
    let settings: StepCounterSettings
    /// Held while the program runs: no other program counts into this data directory.
    private let lock: DataLock
    let history: OwnThread<StepHistory>
    let reader: OwnThread<StepHistoryReader>
    let listener: Listener
    /// Reports discarded sessions.
    private let recorders: Listener
    let publishers: Publishers

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the history of a data directory, and continues from it.
    /// - Throws: `RecordingError` if another step-counter uses the directory, or it cannot be read.
    init(settings: StepCounterSettings, host: ServiceHost) async throws {
        self.settings = settings
        listener = try await host.listenerToStreams(
            at: settings.subscribe, receiveHighWaterMark: settings.receiveHighWaterMark)
        recorders = try await host.listener(
            to: [TopicArea.recording], of: .recorder, at: settings.recorder, isNeeded: false)
        let data = host.configuration.dataDirectory
        lock = try DataLock.acquire(
            in: data, directory: StepHistory.directoryName, for: Program.stepCounter.rawValue)
        runtime = Runtime(host)
        let now = runtime.now
        let history = try StepHistory(in: data, at: now.date)
        core = StepCounting(settings.counting, try history.stored(), at: now)
        self.history = try OwnThread(name: "history", history)
        reader = try OwnThread(name: "queries", StepHistoryReader(in: data, keep: settings.counting.keep))
        thread = try SocketThread(name: "steps")
        publishers = host.peers.publishers
    }

    func run() async throws {
        try await serve(
            { try await self.listener.forEachBatch { await self.take($0) } },
            { try await self.recorders.forEachBatch { await self.takeEvents(of: $0) } },
            finish: { await self.finish() })
    }

    /// Takes recorders' events about sessions.
    private func takeEvents(of batch: MessageBatch) {
        forEachEvent(in: batch) { frames, _, _ in
            if try frames.decode(RecordingEvent.self).change == .discard { core.noteDiscard(at: now) }
        }
        perform()
    }

    /// Takes received events. Those still waiting when a stop is requested are replayed at the next start: otherwise a machine
    /// that is behind would stop late.
    private func take(_ batch: MessageBatch) {
        guard !core.isStopping else { return }
        takeEvents(in: batch, of: publishers, at: now)
        perform()
    }

    /// Takes no more events, and commits everything.
    private func finish() async {
        core.stop(at: now)
        perform()
        try? await wait { [core] in core.isOver }
    }
}
