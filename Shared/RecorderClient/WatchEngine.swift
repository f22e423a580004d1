import Logging
import MessageBus
import Messages
import Runtime
import ServiceKit
import Triggers
import ZeroMQ

/// Runs `recorder watch`: reports events with their time to a `TriggerWatch`, and lets the running recorder record the sessions
/// that the core decides on.
actor WatchEngine: Engine {
    enum Queue: Int, EffectQueueName {
        case requests, ends, recoveries

        /// Streams are recovered at the same time, and a session may take long to end.
        var order: EffectOrder { self == .requests ? .inTurn : .atOnce }
    }

    /// Bytes. A hundred samples of eight fields take 16 KB as JSON.
    private static let messageBytes = 20 << 10
    private static let receiveHighWaterMark = 3_000
    private static let recoveryLimit = Duration.seconds(10)
    /// How long a recorder may take to answer: it first asks its publishers.
    private static let answerTimeout = Duration.seconds(6)
    /// How long a recorder may take to end a session: it waits for missing samples, and finishes its files.
    private static let stopTimeout = Duration.seconds(30)
    /// How long requests to an unreachable recorder are repeated: publishers keep samples as long by default.
    private static let absenceLimit = TimeSpan.seconds(600)
    /// When a request is repeated that the recorder refused for a temporary reason.
    private static let retryInterval = TimeSpan.seconds(1)
    /// How long sessions may take to end after a stop signal.
    private static let finishLimit = TimeSpan.seconds(40)

    let thread: SocketThread
    let runtime: Runtime<TriggerWatch.Effect, Queue>
    let core: TriggerWatch
    private let sessions: WatchedSessions
    private let patterns: Set<String>
    private let streamListener: Listener
    /// Nil if no expression is about log-manager.
    private let logListener: Listener?
    private let publishers: Publishers
    private let recorder: RequestClient
    /// Makes another connection to the recorder, because a connection handles one request at a time.
    private let connect: @Sendable () throws -> RequestClient

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// - Parameters:
    ///   - peers: with their own context and thread.
    ///   - logManager: log-manager's endpoint for events.
    init(
        _ expressions: [TriggerExpression], core: sending TriggerWatch, sessions: WatchedSessions, peers: Peers,
        subscribe: [Endpoint], logManager: Endpoint, recorder: Endpoint
    ) async throws {
        var logger = Logger(label: Program.recorder.rawValue)
        logger.logLevel = .warning
        let health = Health()
        self.core = core
        self.sessions = sessions
        patterns = TriggerWatch.patterns(of: expressions)
        streamListener = try await peers.listener(
            to: patterns.isEmpty ? [] : [TopicArea.stream], of: .sensorPublisher, at: subscribe,
            options: SocketOptions(receiveHighWaterMark: Self.receiveHighWaterMark, messageBytes: Self.messageBytes),
            health: health, logger: logger)
        await streamListener.tellOrigins(of: TopicArea.stream)
        for pattern in patterns { try await streamListener.subscribe(to: TopicArea.samples(of: pattern)) }
        let isAboutLogs = expressions.contains { $0.pattern == nil }
        logListener =
            isAboutLogs
            ? try await peers.listener(
                to: [TopicArea.log], of: .logManager, at: [logManager], health: health, logger: logger) : nil
        publishers = peers.publishers
        connect = { try peers.client(of: .recorder, at: recorder) }
        self.recorder = try connect()
        runtime = Runtime(events: nil, health: health, logger: logger)
        thread = try SocketThread(name: "watch")
    }

    /// Whether anything was lost in this run.
    var loss: LossFlag { runtime.loss }

    func run() async throws {
        try await serve(
            { try await self.streamListener.forEachBatch { await self.take($0) } },
            { try await self.listenToLogs() })
    }

    /// Returns when no more events can change anything.
    func waitForEnd() async throws { try await wait { [core] in core.isOver } }

    /// Ends all sessions, and returns when they have ended or `finishLimit` has passed.
    func finish() async {
        core.stop(at: now)
        perform()
        do {
            try await wait(until: now.monotonic + Self.finishLimit.nanoseconds) { [core] in core.isIdle }
            core.giveUpUnconfirmed()
            perform()
        } catch {
            // The watch ends for another reason than a signal, such as the last session: there is nothing to wait for.
        }
    }

    private func take(_ batch: MessageBatch) {
        takeEvents(in: batch, of: publishers, at: now)
        perform()
    }

    private func listenToLogs() async throws {
        guard let logListener else {
            // There are no events to receive; the task is cancelled with the others.
            try await wait { false }
            return
        }
        try await logListener.forEachBatch { await self.takeLogEvents($0) }
    }

    private func takeLogEvents(_ batch: MessageBatch) {
        let now = now
        forEachEvent(in: batch) { frames, _, _ in core.take(try frames.decode(LogFileEvent.self), at: now) }
        perform()
    }

    // MARK: Effects

    static func queue(of effect: TriggerWatch.Effect) -> Queue? {
        switch effect {
        case .start, .extend, .keep: .requests
        case .stop: .ends
        case .recover: .recoveries
        case .say, .notice: nil
        }
    }

    func carryOut(_ effect: TriggerWatch.Effect) {
        switch effect {
        case .say(let line): StandardStream.output.print(line + "\n")
        case .notice(let notice): runtime.tell(notice)
        case .start, .extend, .stop, .recover, .keep: return
        }
    }

    func carryOutQueued(_ effect: TriggerWatch.Effect) async throws {
        switch effect {
        case .start(let session, let from, let until):
            core.started(session, failure: try await start(session, from: from, until: until), at: now)
        case .extend(let session, let until):
            let outcome = try await ask(RecordingExtend(session: session, until: until), over: recorder)
            if case .failure(let error) = outcome, !error.isOf(.finished), !error.isOf(.unknownSession) {
                core.extended(session, isRunning: true, at: now)
            } else {
                core.extended(session, isRunning: (try? outcome.get()) != nil, at: now)
            }
        case .stop(let session):
            let outcome = try await ask(
                RecordingStop(session: session), over: connect(), timeout: Self.stopTimeout)
            core.stopped(session, outcome, at: now)
        case .keep(let from, let to):
            let request = RecordingKeep(session: sessions.ring ?? "", from: from, to: to)
            core.kept(try await ask(request, over: recorder), at: now)
        case .recover(let stream):
            try await publishers.recover(
                EngineStream(stream, of: self), limit: Self.recoveryLimit)
        case .say, .notice: return
        }
    }

    /// - Returns: why the session could not be started; nil if it was.
    private func start(_ session: String, from: WallTime, until: WallTime) async throws -> String? {
        let start = now.monotonic
        var isRepeated = false
        while true {
            let left = max(1_000_000_000, until.nanosecondsSince1970 - now.date.nanosecondsSince1970)
            let request = RecordingStart(
                session: session, task: sessions.task, streams: sessions.streams, duration: Double(left) / 1e9,
                from: from)
            let outcome = try await attempt(request, over: recorder, timeout: Self.answerTimeout)
            switch outcome {
            case .success: return nil
            // The reply to an earlier request was lost.
            case .failure(let error) where isRepeated && error.isOf(.alreadyRunning): return nil
            case .failure(let error):
                guard error.isPassing, now.monotonic - start < Self.absenceLimit.nanoseconds else {
                    return error.description
                }
                isRepeated = isRepeated || error.isOf(.timedOut)
                try await rest(after: error)
            }
        }
    }

    /// Repeats a request until the recorder answers, or has been unreachable for too long.
    private func ask<Question: Request>(
        _ request: Question, over client: RequestClient, timeout: Duration = answerTimeout
    ) async throws -> Result<Question.Reply, RequestError> {
        let start = now.monotonic
        while true {
            let outcome = try await attempt(request, over: client, timeout: timeout)
            guard case .failure(let error) = outcome, error.isPassing,
                now.monotonic - start < Self.absenceLimit.nanoseconds
            else { return outcome }
            try await rest(after: error)
        }
    }

    private func attempt<Question: Request>(
        _ request: Question, over client: RequestClient, timeout: Duration
    ) async throws -> Result<Question.Reply, RequestError> {
        do {
            return .success(try await client.send(request, timeout: timeout))
        } catch let error as RequestError {
            return .failure(error)
        } catch let error as MessageError {
            // The recorder may have another version.
            return .failure(RequestError(.inputOutput, "the recorder's answer can't be read: \(error)"))
        } catch let error as ZeroMQError where error.code == .timedOut {
            return .failure(
                RequestError(
                    .timedOut, "no recorder answers at \(client.endpoint): start one, or pass --reply ENDPOINT"))
        }
    }

    /// Waits before a request is repeated. After a timeout, there is no need to wait again.
    private func rest(after error: RequestError) async throws {
        if error.isOf(.timedOut) { return }
        let time = error.data?.retryAfter.map { Int64(min($0, 60) * 1e9) } ?? Self.retryInterval.nanoseconds
        try await wait(until: now.monotonic + time) { false }
    }
}
