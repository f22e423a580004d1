import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// A publisher, a recorder, and the laboratory between them: the forwarder that hears every sample. Both programs may end and
/// return, each on its own ports.
///
/// Confined to the task of one experiment.
final class Rig {
    let lab: Laboratory
    let directory: FilePath
    let forwarder: Forwarder
    let stalls: StallWatch
    var data: FilePath
    /// The recorder's further options.
    var recorderOptions: [String] = []
    private(set) var publisher: ProgramUnderTest
    private(set) var recorder: ProgramUnderTest?
    /// Sends requests to the running recorder.
    private(set) var recordings: RequestClient
    /// The expectations with which each session is compared.
    var expectations: [String: SessionExpectation] = [:]
    /// The running sessions, with the request for each.
    private(set) var plans: [String: SessionPlan] = [:]
    private(set) var paused: Set<String> = []
    /// The individually paused streams of each session.
    private var pausedStreams: [String: Set<String>] = [:]
    /// The sessions whose start was answered.
    private(set) var acknowledged: Set<String> = []

    /// Whether a session's files are removed after a check without findings.
    var removesChecked = true

    private let publisherVictim: Victim
    private let recorderVictim: Victim
    private let publisherArguments: [String]
    private let ports: Ports
    private var steps = 0
    private var annotations = 0
    /// A change that has not been answered yet.
    private var unanswered: (session: String, kind: SessionExpectation.Change.Kind, asked: Instant)?

    private struct Ports {
        let publisherPublish: String
        let publisherReply: String
        let recorderPublish: String
        let recorderReply: String

        init() throws {
            let endpoints = try FreePort.endpoints(4)
            publisherPublish = endpoints[0]
            publisherReply = endpoints[1]
            recorderPublish = endpoints[2]
            recorderReply = endpoints[3]
        }
    }

    private static let limit = Duration.seconds(60)

    private init(
        lab: Laboratory, directory: FilePath, ports: Ports, forwarder: Forwarder, stalls: StallWatch,
        publisherVictim: Victim, recorderVictim: Victim, publisherArguments: [String]
    ) async throws {
        self.lab = lab
        self.directory = directory
        data = directory.appending("data")
        self.ports = ports
        self.forwarder = forwarder
        self.stalls = stalls
        self.publisherVictim = publisherVictim
        self.recorderVictim = recorderVictim
        self.publisherArguments = publisherArguments
        publisher = try await publisherVictim.start(publisherArguments)
        recordings = try lab.client(of: "recorder", at: ports.recorderReply)
        _ = try await publisher.ready()
        try await heard(since: 0)
    }

    /// Starts a publisher and a forwarder, and ends all programs with the body.
    /// - Parameters:
    ///   - name: the name of the experiment's directory.
    ///   - publishing: the publisher's further options.
    static func run(
        _ name: String, in lab: Laboratory, row: inout Row, streams: [StreamPlan] = StreamPlan.usual,
        publishing: [String] = [], _ body: (Rig, inout Row) async throws -> Void
    ) async throws {
        try await lab.withDirectory(name, row: &row) { directory, row in
            let configuration = directory.appending("streams.json")
            let records = directory.appending("records.ndjson")
            try RecordsFile.write(to: records)
            try StreamPlan.configuration(streams, records: records, seed: lab.random(for: name).state).write(
                toFile: configuration.string, atomically: true, encoding: .utf8)
            let ports = try Ports()
            let forwarder = try await Forwarder(from: ports.publisherPublish, in: lab)
            let stalls = StallWatch()
            let publisher = Victim(lab.programs.appending("sensor-publisher"))
            let recorder = Victim(lab.programs.appending("recorder"))
            let arguments =
                ["--config", configuration.string, "--publish", ports.publisherPublish]
                + ["--reply", ports.publisherReply, "--log-level", "error"] + (lab.keys?.options ?? []) + publishing
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { await publisher.run() }
                tasks.addTask { await recorder.run() }
                tasks.addTask { try await forwarder.run() }
                tasks.addTask { try await stalls.run() }
                defer { tasks.cancelAll() }
                let rig = try await Rig(
                    lab: lab, directory: directory, ports: ports, forwarder: forwarder, stalls: stalls,
                    publisherVictim: publisher, recorderVictim: recorder, publisherArguments: arguments)
                try await body(rig, &row)
            }
        }
    }

    /// Tries a fault repeatedly while the usual sessions are recorded.
    /// - Parameter attempt: makes the fault once, and returns the time from which the recovery is measured.
    static func repeating(
        _ name: String, in lab: Laboratory, row: inout Row, times: Int,
        _ attempt: (Rig, inout Row, inout SplitMix) async throws -> ContinuousClock.Instant
    ) async throws {
        var random = lab.random(for: name)
        try await run(name, in: lab, row: &row) { rig, row in
            try await rig.startUsual()
            for _ in 0..<times {
                let start = try await attempt(rig, &row, &random)
                try await rig.catchUp()
                row.add(recovery: .now - start)
            }
            try await rig.stopAll(row: &row)
        }
    }

    // MARK: Programs

    var eventsEndpoint: String { ports.recorderPublish }
    var replyEndpoint: String { ports.recorderReply }

    /// The logs of publisher and recorder.
    var logs: WrittenLog { publisherVictim.log + recorderVictim.log }

    /// Starts the recorder without waiting until it is ready.
    @discardableResult
    func startRecorder(_ layer: FaultLayer? = nil) async throws -> ProgramUnderTest {
        let recorder = try await recorderVictim.start(
            ["--data", data.string, "--subscribe", forwarder.endpoint, "--publish", ports.recorderPublish]
                + ["--reply", ports.recorderReply, "--log-level", "warning"] + (lab.keys?.options ?? [])
                + recorderOptions,
            environment: layer?.environment ?? [:])
        self.recorder = recorder
        recordings = try lab.client(of: "recorder", at: ports.recorderReply)
        return recorder
    }

    /// Starts the recorder and the usual sessions.
    func startUsual() async throws {
        _ = try await startRecorder().ready()
        for (index, plan) in SessionPlan.usual.enumerated() { try await start("session-\(index)", plan) }
    }

    func running() throws -> ProgramUnderTest {
        guard let recorder else { throw Violation("no recorder was started") }
        return recorder
    }

    func killRecorder() async throws {
        let recorder = try running()
        try? recorder.send(.kill)
        let end = try await recorder.end()
        guard end == .killed(by: 9) else {
            throw Violation("the recorder \(end) by itself before it was killed:\n\(recorder.standardError)")
        }
    }

    /// - Parameter isWhole: whether all sessions were whole, so that the exit code must be 0.
    func terminateRecorder(isWhole: Bool = false) async throws {
        let recorder = try running()
        try recorder.send(.terminate)
        let end = try await recorder.end()
        guard end == .exited(0) || end == .exited(3) && !isWhole else {
            throw Violation("the recorder \(end) at its end:\n\(recorder.standardError)")
        }
    }

    func terminatePublisher() async throws {
        try publisher.send(.terminate)
        let end = try await publisher.end()
        guard end == .exited(0) else { throw Violation("the publisher \(end) at its end:\n\(publisher.standardError)") }
    }

    /// Ends and restarts the publisher, with a new epoch. Waits until the new one is heard.
    func restartPublisher(by signal: ProgramSignal) async throws {
        try publisher.send(signal)
        let end = try await publisher.end()
        guard end == (signal == .kill ? .killed(by: 9) : .exited(0)) else {
            throw Violation("the publisher \(end) after \(signal):\n\(publisher.standardError)")
        }
        let uptime = Double(MonotonicClock.now) / 1e9
        publisher = try await publisherVictim.start(publisherArguments)
        _ = try await publisher.ready()
        try await heard(since: uptime)
        try await fillHoles()
    }

    /// Waits until samples of every stream arrive that were taken after an uptime.
    private func heard(since uptime: Double) async throws {
        let count =
            try String(contentsOfFile: directory.appending("streams.json").string, encoding: .utf8)
            .split(separator: "\"device\"").count - 1
        try await eventually("samples of each stream", within: Self.limit) {
            forwarder.samples.latestUptimes.values.count { $0 > uptime } == count
        }
        try await fillHoles()
    }

    /// Requests from the publisher the samples that the laboratory itself missed: the oracle must know every sample.
    func fillHoles() async throws {
        let client = try lab.client(of: "sensor-publisher", at: ports.publisherReply)
        for history in forwarder.samples.histories {
            guard let epoch = history.epochs.last else { continue }
            for hole in epoch.holes {
                var next = hole.lowerBound
                while next < hole.upperBound {
                    let request = SamplesReplay(
                        device: history.device, stream: history.stream, epoch: epoch.epoch, from: next,
                        count: hole.upperBound - next)
                    let (reply, frames) = try await client.sendForFrames(request, timeout: .seconds(10))
                    guard reply.count > 0 else { break }
                    add(frames)
                    next = reply.from + reply.count
                }
            }
        }
    }

    private func add(_ frames: ArraySlice<[UInt8]>) {
        var index = frames.startIndex
        while index < frames.endIndex {
            let body = frames[index]
            index += 1
            if let batch = HeardBatch(body: body, packed: nil) {
                forwarder.samples.add(batch, at: nil)
            } else if index < frames.endIndex {
                let batch = frames[index].withUnsafeBytes { HeardBatch(body: body, packed: $0) }
                index += 1
                if let batch { forwarder.samples.add(batch, at: nil) }
            }
        }
    }

    // MARK: Requests

    /// The recorder ended before it answered.
    struct Died: Error {}

    /// Sends a request to the running recorder.
    /// - Throws: `Died` as soon as the recorder has ended.
    func ask<Question: Request>(_ question: Question, within limit: Duration = .seconds(30)) async throws
        -> Question.Reply
    {
        try await Self.ask(question, of: running(), through: recordings, within: limit)
    }

    /// Sends a request to a recorder.
    /// - Throws: `Died` as soon as the recorder has ended.
    static func ask<Question: Request>(
        _ question: Question, of recorder: ProgramUnderTest, through client: RequestClient,
        within limit: Duration = .seconds(30)
    ) async throws -> Question.Reply {
        try await withThrowingTaskGroup(of: Question.Reply?.self) { tasks in
            tasks.addTask { try await client.send(question, timeout: limit) }
            tasks.addTask {
                _ = try await recorder.end(within: limit + .seconds(5))
                return nil
            }
            defer { tasks.cancelAll() }
            guard let reply = try await tasks.next() ?? nil else { throw Died() }
            return reply
        }
    }

    // MARK: Sessions

    func directory(of session: String) -> FilePath { data.appending("recordings").appending(session) }

    func start(_ session: String, _ plan: SessionPlan) async throws {
        expect(session, plan, asked: .now)
        do {
            let reply = try await ask(plan.request(session))
            guard reply.status == "running" else { throw Violation("session \(session) starts as \(reply.status)") }
            started(session)
        } catch let error where !(error is Died) {
            forget(session)
            throw error
        }
    }

    /// Notes the expectation for a session that is being requested.
    func expect(_ session: String, _ plan: SessionPlan, asked: Instant) {
        expectations[session] = SessionExpectation(
            session: session, streams: plan.streams, format: plan.format, stepPath: "\(SessionPlan.task)/s0",
            startAsked: asked, startAnswered: .now, stopAsked: Instant(monotonic: .max, wall: .infinity))
        plans[session] = plan
    }

    /// Notes the recorder's answer that the session runs: from now on every sample belongs to it.
    func started(_ session: String, at answered: Instant = .now) {
        expectations[session]?.startAnswered = answered
        acknowledged.insert(session)
    }

    /// Forgets a session that never began.
    func forget(_ session: String) {
        expectations[session] = nil
        plans[session] = nil
        paused.remove(session)
        pausedStreams[session] = nil
        acknowledged.remove(session)
    }

    /// Requests a change from a recorder.
    static func change(
        _ session: String, _ kind: SessionExpectation.Change.Kind, of recorder: ProgramUnderTest,
        through client: RequestClient
    ) async throws {
        switch kind {
        case .pause: _ = try await ask(RecordingPause(session: session), of: recorder, through: client)
        case .resume: _ = try await ask(RecordingResume(session: session), of: recorder, through: client)
        case .pauseStream(let stream):
            let request = RecordingPause(session: session, stream: StreamName(stream))
            _ = try await ask(request, of: recorder, through: client)
        case .resumeStream(let stream):
            let request = RecordingResume(session: session, stream: StreamName(stream))
            _ = try await ask(request, of: recorder, through: client)
        case .step(let path):
            let step = String(path.dropFirst(SessionPlan.task.count + 1))
            _ = try await ask(RecordingMoveTo(session: session, step: step), of: recorder, through: client)
        case .annotation(let label):
            _ = try await ask(RecordingAnnotate(session: session, label: label), of: recorder, through: client)
        }
    }

    /// A random change: an annotation, another step, a pause, or the end of one.
    func anyChange(of session: String, using random: inout SplitMix) -> SessionExpectation.Change.Kind {
        if random.happens(0.25) {
            annotations += 1
            return .annotation("note-\(annotations)")
        }
        if paused.contains(session) { return .resume }
        if let stream = pausedStreams[session]?.first { return .resumeStream(stream) }
        if random.happens(0.3) { return .pause }
        if random.happens(0.3), let streams = plans[session]?.streams,
            let stream = forwarder.samples.histories(matching: streams).randomElement(using: &random)
        {
            return .pauseStream(stream.name)
        }
        steps += 1
        return .step("\(SessionPlan.task)/s\(steps)")
    }

    func change(_ session: String, _ kind: SessionExpectation.Change.Kind) async throws {
        let asked = Instant.now
        unanswered = (session, kind, asked)
        try await Self.change(session, kind, of: running(), through: recordings)
        unanswered = nil
        changed(session, kind, asked: asked)
    }

    /// Finds out, from a restarted recorder, whether the change during which it died took effect.
    /// - Parameter wasAnswered: whether the change was answered, so that it must have taken effect.
    func settle(
        _ session: String, _ kind: SessionExpectation.Change.Kind, asked: Instant, wasAnswered: Bool = false
    ) async throws {
        unanswered = nil
        // The annotation can be checked only after the session.
        if case .annotation = kind { return changed(session, kind, asked: asked, isDoubtful: !wasAnswered) }
        let state = try await ask(RecordingStatus(session: session))
        let isDone =
            switch kind {
            case .pause: state.paused
            case .resume: !state.paused
            case .pauseStream(let stream): state.pausedStreams?.contains { $0.description == stream } ?? false
            case .resumeStream(let stream): !(state.pausedStreams?.contains { $0.description == stream } ?? false)
            case .step(let path): state.step == path
            case .annotation: true
            }
        if isDone {
            changed(session, kind, asked: asked)
        } else if wasAnswered {
            throw Violation("\(kind) of session \(session) was answered, and is undone: \(state)")
        }
    }

    /// Finds out, from a restarted recorder, what became of the sessions during which it died.
    func settleAll() async throws {
        let list = try await ask(RecordingList()).recordings
        for session in plans.keys.sorted() {
            let status = list.first { $0.session == session }?.status
            if status == "running" {
                if !acknowledged.contains(session) { started(session) }
            } else if acknowledged.contains(session) {
                throw Violation("session \(session) went on, and is \(status ?? "gone") now")
            } else {
                forget(session)
            }
        }
        if let (session, kind, asked) = unanswered, plans[session] != nil {
            try await settle(session, kind, asked: asked)
        }
    }

    /// Notes a change that took effect between its request and now.
    func changed(
        _ session: String, _ kind: SessionExpectation.Change.Kind, asked: Instant, isDoubtful: Bool = false
    ) {
        expectations[session]?.changes.append(
            SessionExpectation.Change(kind: kind, asked: asked, answered: .now, isDoubtful: isDoubtful))
        switch kind {
        case .pause: paused.insert(session)
        case .resume: paused.remove(session)
        case .pauseStream(let stream): pausedStreams[session, default: []].insert(stream)
        case .resumeStream(let stream): pausedStreams[session]?.remove(stream)
        case .step, .annotation: break
        }
    }

    /// Ends all pauses.
    func resumeAll() async throws {
        for session in paused { try await change(session, .resume) }
        for (session, streams) in pausedStreams {
            for stream in streams { try await change(session, .resumeStream(stream)) }
        }
    }

    @discardableResult
    func stop(_ session: String) async throws -> RecordingResult {
        stopping(session)
        return try await ask(RecordingStop(session: session), within: .seconds(60))
    }

    /// Notes that the session's end is being requested.
    func stopping(_ session: String) {
        if expectations[session]?.stopAsked.monotonic == .max { expectations[session]?.stopAsked = .now }
        plans[session] = nil
        paused.remove(session)
        pausedStreams[session] = nil
    }

    /// Ends all sessions and checks them.
    func stopAll(row: inout Row) async throws {
        for session in plans.keys.sorted() { try await stop(session) }
        for session in expectations.keys.sorted() { try await check(session, row: &row) }
        expectations = [:]
    }

    /// Records and checks a session, usually one after a failure.
    func record(
        _ session: String, _ plan: SessionPlan = SessionPlan(streams: ["left-wrist/"]),
        for time: Duration = .milliseconds(300), row: inout Row
    ) async throws {
        try await start(session, plan)
        try await Task.sleep(for: time)
        try await stop(session)
        try await check(session, row: &row)
        forget(session)
    }

    /// Waits until the logs of all sessions have the samples published so far.
    func catchUp() async throws {
        let uptimes = forwarder.samples.latestUptimes
        for (session, plan) in plans where !paused.contains(session) {
            let directory = directory(of: session)
            // The directory is listed once, since it may have thousands of files.
            var files = try? SessionFiles(directory)
            for history in forwarder.samples.histories(matching: plan.streams) {
                guard let uptime = uptimes[history.name], pausedStreams[session]?.contains(history.name) != true
                else { continue }
                let log = SessionFiles.log(of: history)
                var last: Double?
                do {
                    try await eventually("sample \(uptime) in \(log) of session \(session)", within: Self.limit) {
                        last = try? files?.lastUptime(of: log, format: plan.format)
                        if let last, last >= uptime { return true }
                        files = try? SessionFiles(directory)
                        return false
                    }
                } catch {
                    let recorder = try running()
                    throw Violation(
                        "\(error); its last is \(last as Any). The recorder says:\n\(recorder.standardError)")
                }
            }
        }
    }

    /// Compares a finished session with the published samples, and runs `recorder verify` on it.
    func check(_ session: String, row: inout Row) async throws {
        guard let expectation = expectations[session] else { return }
        let findings = SessionCheck.findings(
            in: directory(of: session), expectation: expectation,
            histories: forwarder.samples.histories(matching: expectation.streams))
        row.add(findings)
        try await verify(directory(of: session), isWhole: findings.lost == 0, row: &row)
        if findings.violations.isEmpty, removesChecked {
            try? FileManager.default.removeItem(atPath: directory(of: session).string)
        }
    }

    /// Runs `recorder verify` on a session's directory.
    func verify(_ directory: FilePath, isWhole: Bool, row: inout Row) async throws {
        let (end, text) = try await lab.output(of: "recorder", ["verify", directory.string])
        if end != .exited(isWhole ? 0 : 3) {
            row.violations.append("recorder verify \(directory) \(end), whole is \(isWhole):\n\(text)")
        }
    }
}
