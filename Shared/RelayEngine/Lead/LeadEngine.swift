import Files
import Logging
import MessageBus
import Messages
import NATS
import Recording
import RelayCore
import Runtime
import ServiceKit
import ZeroMQ

/// Runs `relay lead`: passes events with their time to a `Leadership` and carries out its effects.
actor LeadEngine: Engine {
    enum Queue: Int, EffectQueueName {
        case servers, directory, recorder, sessions, plans
    }

    /// The recorder's command and environment, and the endpoints at which it is reached.
    struct Program: Sendable {
        let command: [String]
        let variables: [String: String]
        let publish: Endpoint
        let reply: Endpoint
    }

    /// The timeout for starting a session: the recorder first waits for its publishers.
    private static let startTimeout = Duration.seconds(8)
    private static let answerTimeout = Duration.seconds(5)
    /// The pause before repeating a request that the recorder refused temporarily.
    private static let retryInterval = TimeSpan.milliseconds(500)
    /// A recorder that is stopping also sends this code for requests that it no longer carries out.
    private static let internalError = RequestError.internalError("").code

    let thread: SocketThread
    let runtime: Runtime<Leadership.Effect, Queue>
    let core: Leadership
    let lease: String
    private let program: Program
    private let store: OwnThread<LeaseStore>
    private let directory: OwnThread<LeaseDirectory>
    /// The thread that waits for the recorder's end.
    private let waiter: OwnThread<Void>
    private let events: Listener
    private let recorder: RequestClient
    /// A second connection, since each handles one request at a time.
    private let planner: RequestClient
    private var child: GuardedProgram?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// - Parameter peers: uses sockets of its own context, on its own thread.
    init(
        core: sending Leadership, store: sending LeaseStore, directory: LeaseDirectory, program: Program, peers: Peers,
        health: Health, logger: Logger
    ) async throws {
        lease = directory.lease
        core.slept = Self.elapsedClock() - Self.clock().monotonic
        self.core = core
        self.program = program
        self.store = try OwnThread(name: "lease", store)
        self.directory = try OwnThread(name: "disk", directory)
        waiter = try OwnThread(name: "recorder", ())
        events = try await peers.listener(
            to: [TopicArea.recording], of: .recorder, at: [program.publish], isNeeded: false, health: health,
            logger: logger)
        recorder = try peers.client(of: .recorder, at: program.reply)
        planner = try peers.client(of: .recorder, at: program.reply)
        runtime = Runtime(events: nil, health: health, logger: logger)
        thread = try SocketThread(name: "lead")
    }

    func run() async throws {
        try await serve(
            { try await self.events.forEachBatch { await self.take($0) } },
            { try await self.events.onReconnect { await self.checkPlans() } })
    }

    /// Stops the recorder, releases the lease, and returns when both are done.
    func finish() async {
        core.stop(at: time)
        perform()
        try? await wait { [core] in core.isOver }
    }

    var time: Int64 {
        let time = Self.elapsedClock()
        core.slept = time - now.monotonic
        return time
    }

    private func take(_ batch: MessageBatch) {
        let time = time
        forEachEvent(in: batch) { frames, _, _ in core.take(try frames.decode(RecordingEvent.self), at: time) }
        perform()
    }

    private func checkPlans() {
        core.checkPlans()
        perform()
    }

    // MARK: Effects

    static func queue(of effect: Leadership.Effect) -> Queue? {
        switch effect {
        case .read, .write: .servers
        case .prepare: .directory
        case .start: .recorder
        case .continue: .sessions
        case .plan: .plans
        case .extend, .terminate, .kill, .notice: nil
        }
    }

    func carryOut(_ effect: Leadership.Effect) {
        switch effect {
        case .extend(let deadline): child?.extend(until: deadline)
        case .terminate: child?.terminate()
        case .kill: child?.kill()
        case .notice(let notice): runtime.tell(notice)
        default: return
        }
    }

    func carryOutQueued(_ effect: Leadership.Effect) async throws {
        switch effect {
        case .read(let number):
            let answer = await store.run { $0.read() }
            core.answered(answer, to: number, at: time)
        case .write(let value, let revision, let number):
            let answer = await store.run { $0.write(value, replacing: revision) }
            core.answered(answer, to: number, at: time)
        case .prepare(let term, let setsAside): await prepare(term, setsAside: setsAside)
        case .start(let deadline): await runRecorder(until: deadline)
        case .continue(let continuation):
            core.continued(continuation, try await continueSession(continuation), at: time)
        case .plan(let session):
            let reply = try? await planner.send(RecordingPlan(session: session), timeout: Self.answerTimeout)
            core.planned(session, reply, at: time)
        case .extend, .terminate, .kill, .notice: return
        }
    }

    private func prepare(_ term: Int, setsAside: Bool) async {
        let failure: String?
        do {
            let moved = try await directory.run { (directory) throws(RecordingError) in
                try directory.prepare(term: term, setsAside: setsAside)
            }
            for path in moved {
                logger.warning(
                    "a session was taken over by another machine: this machine's part of it was set aside",
                    metadata: ["directory": "\(path)"])
            }
            failure = nil
        } catch {
            failure = "\(error)"
        }
        core.prepared(term, failure: failure, at: time)
    }

    private func runRecorder(until deadline: Int64) async {
        guard let child = GuardedProgram(program.command, adding: program.variables, until: deadline) else {
            return core.ended("the machine has no process for it", at: time)
        }
        self.child = child
        logger.notice("started the recorder", metadata: ["term": "\(core.leadingTerm ?? 0)"])
        // The recorder may have been told to stop while it was starting.
        if !core.isRecording { child.kill() }
        let reason = await waiter.run { _ in child.wait() }
        self.child = nil
        child.close()
        core.ended(reason, at: time)
    }

    // MARK: Sessions

    /// Requests that the recorder records a session from its start, and adds the session's annotations.
    private func continueSession(_ continuation: SessionContinuation) async throws -> SessionContinuation.Outcome {
        while core.leadingTerm == continuation.term, core.hasRecorder {
            if let obstacle = continuation.obstacle(at: now.date) {
                // The session may run already.
                return try await annotateIfOurs(continuation) ?? .failed(obstacle)
            }
            do {
                _ = try await recorder.send(continuation.plan.start, timeout: Self.startTimeout)
                return try await annotate(continuation)
            } catch let error as ZeroMQError where error.code == .timedOut {
                continue
            } catch let error as RequestError {
                if let outcome = try await outcome(of: error, continuing: continuation) { return outcome }
                try await wait(until: now.monotonic + Self.retryInterval.nanoseconds) { false }
            }
        }
        return .unanswered
    }

    /// The result of a request that the recorder refused; nil if it has to be repeated.
    private func outcome(
        of refusal: RequestError, continuing continuation: SessionContinuation
    ) async throws -> SessionContinuation.Outcome? {
        if refusal.isPassing { return nil }
        return switch refusal.code {
        case RequestError.Reason.alreadyRunning.code: try await annotateIfOurs(continuation)
        case RequestError.Reason.finished.code: await end(of: continuation.plan.session)
        case RequestError.Reason.noSpace.code, RequestError.Reason.inputOutput.code, Self.internalError:
            .failed("\(refusal)")
        default: .refused("\(refusal)")
        }
    }

    /// Adds the annotations of a session that is running already, unless it is another shard's.
    private func annotateIfOurs(_ continuation: SessionContinuation) async throws -> SessionContinuation.Outcome? {
        do {
            _ = try await recorder.send(
                RecordingStatus(session: continuation.plan.session), timeout: Self.answerTimeout)
        } catch let error as RequestError {
            guard error.isOf(.unknownSession) else { return nil }
            return .failed("another shard's recorder has a session of this name in this data directory")
        } catch let error as ZeroMQError where error.code == .timedOut {
            return nil
        }
        return try await annotate(continuation)
    }

    /// How a session ended on this machine; nil without an answer.
    private func end(of session: String) async -> SessionContinuation.Outcome? {
        let request = RecordingStatus(session: session)
        guard let state = try? await recorder.send(request, timeout: Self.answerTimeout) else { return nil }
        if state.status == SessionStatus.failed.rawValue {
            let reason = state.lastFailure ?? "see its report"
            return .failed("a session of this name failed on this machine: \(reason)")
        }
        let reply = try? await recorder.send(RecordingPlan(session: session), timeout: Self.answerTimeout)
        return .over(startDates: [state.startDate, reply?.plan.start.from].compactMap(\.self))
    }

    private func annotate(_ continuation: SessionContinuation) async throws -> SessionContinuation.Outcome {
        var numbers: [Int: Int] = [:]
        for annotation in continuation.plan.annotations ?? [] {
            do {
                let request = try continuation.plan.annotationRequest(for: annotation, numbers: numbers)
                let reply = try await recorder.send(request, timeout: Self.answerTimeout)
                numbers[annotation.number] = reply.annotation.number
            } catch let error as RequestError {
                logger.error(
                    "an annotation was not kept",
                    metadata: ["session": "\(continuation.plan.session)", LogKey.error: "\(error)"])
            } catch let error as ZeroMQError where error.code == .timedOut {
                return .unanswered
            }
        }
        return .running
    }
}
