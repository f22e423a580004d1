import Files
import Logging
import MessageBus
import Messages
import Metrics
import RecorderEngine
import Recording
import ServiceKit
import ServiceLifecycle
import Synchronization
import SystemPackage
import TestSupport
import ZeroMQ

/// A recorder in this process, set up as its main function does, with a data directory of its own.
final class RecorderUnderTest: Sendable {
    let data: FilePath
    private let context: Context
    private let thread: SocketThread
    private let endpoint: String
    private let client: RequestClient
    let outcome: @Sendable () -> ExitStatus
    let health: Health
    private let metrics: @Sendable () async -> MetricsPage
    /// The recorder's events, in order.
    let events: Events
    private let group: ServiceGroup

    private init(
        data: FilePath, endpoints: ServiceEndpoints, group: ServiceGroup, running: RunningService, health: Health
    ) async throws {
        self.health = health
        self.data = data
        context = try Context()
        thread = try SocketThread(name: "test")
        endpoint = endpoints.reply
        client = try RequestClient(context: context, thread: thread, endpoint: endpoint)
        events = try await Events(context: context, thread: thread, endpoint: endpoints.publish)
        self.group = group
        outcome = running.outcome
        metrics = { [own = running.metrics] in
            var page = await own()
            page.add(health.page)
            return page
        }
    }

    /// Runs a recorder, and the publishers that it listens to, as long as a closure does.
    static func run(
        listeningTo publishers: [FakePublisher] = [], data: FilePath? = nil, syncInterval: String = "10ms",
        recoveryLimit: String = "4s", holdLimit: String = "64MB", shard: String? = nil,
        logManager: String = "inproc://nobody", logManagerLimit: String = "300ms",
        reports: FilePath? = nil,
        _ body: @escaping @Sendable (RecorderUnderTest) async throws -> Void
    ) async throws {
        guard let data else {
            return try await withTemporaryDirectory { directory in
                try await run(
                    listeningTo: publishers, data: directory, syncInterval: syncInterval, recoveryLimit: recoveryLimit,
                    holdLimit: holdLimit, shard: shard, logManager: logManager,
                    logManagerLimit: logManagerLimit, reports: reports, body)
            }
        }
        var flags = FlagValues()
        flags.set("data", data)
        flags.set("publish", "tcp://127.0.0.1:*")
        flags.set("reply", "tcp://127.0.0.1:*")
        flags.set("sync-interval", syncInterval)
        flags.set("recovery-limit", recoveryLimit)
        flags.set("hold-limit", holdLimit)
        flags.set("shard", shard)
        flags.set("log-manager", logManager)
        flags.set("log-manager-limit", logManagerLimit)
        flags.set("reports", reports)
        // Without publishers, an endpoint that never answers.
        flags.set("subscribe", all: publishers.isEmpty ? ["inproc://nobody"] : publishers.map(\.endpoint))
        let reader = try ConfigurationReader(for: .recorder, flags: flags, environment: [:])
        let host = try ServiceHost(
            configuration: ServiceConfiguration(for: .recorder, reading: reader),
            logger: Logger(label: "recorder") { _ in SwiftLogNoOpLogHandler() })
        let running = try await start(RecorderSettings(reading: reader), on: host)
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: running.router, context: host.context, thread: host.thread)
        let endpoints = ServiceEndpoints(publish: host.publishEndpoint, reply: server.endpoint)
        let group = ServiceGroup(
            services: [ReplyService(server: server)] + (try running.parts(endpoints)), logger: host.logger)

        let recorder = try await RecorderUnderTest(
            data: data, endpoints: endpoints, group: group, running: running, health: host.health)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for publisher in publishers { tasks.addTask { try? await publisher.run() } }
            tasks.addTask { try? await recorder.events.collect() }
            try await withThrowingTaskGroup(of: Void.self) { service in
                service.addTask { try await group.run() }
                try await recorder.events.join { try host.publisher.publish($0) }
                try await withTimeLimit(.seconds(55), "the test") { try await body(recorder) }
                await group.triggerGracefulShutdown()
                try await service.waitForAll()
            }
            tasks.cancelAll()
        }
        try recorder.verifySessions()
    }

    /// Retries, because a recorder of this process releases its directory a little later than a process that ends.
    private static func start(_ settings: RecorderSettings, on host: ServiceHost) async throws -> RunningService {
        for _ in 0..<50 {
            do {
                return try await .recorder(settings, on: host)
            } catch let error as ServiceError where error.message.contains("uses it") {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        return try await .recorder(settings, on: host)
    }

    /// Runs a recorder with a primed session `s` of one stream: from then on, only the test loses samples.
    static func record(
        isPacked: Bool = false, recoveryLimit: String = "4s", holdLimit: String = "64MB",
        _ body: @escaping @Sendable (RecorderUnderTest, FakePublisher) async throws -> Void
    ) async throws {
        let publisher = try await FakePublisher(isPacked: isPacked)
        try await run(listeningTo: [publisher], recoveryLimit: recoveryLimit, holdLimit: holdLimit) { recorder in
            try await recorder.start("s", publisher)
            try await recorder.prime(publisher)
            try await body(recorder, publisher)
        }
    }

    /// Whatever the test did, the recorded files must match the report.
    private func verifySessions() throws {
        for identifier in try SessionDirectory.sessions(in: data) {
            guard let directory = try? SessionDirectory.open(identifier, in: data), directory.hasChecksums else {
                continue
            }
            let verification = directory.verify()
            guard verification.verdict == .damaged else { continue }
            throw TestFailure("\(identifier): \(verification.findings.map(\.description).joined(separator: "\n"))")
        }
    }

    /// Makes the recorder stop, as a signal does. Returns at once.
    func shutDown() async { await group.triggerGracefulShutdown() }

    // MARK: Requests

    func send<Params: Request>(_ request: Params) async throws -> Params.Reply {
        try await client.send(request, timeout: .seconds(50))
    }

    /// The reason for which a request is refused; nil if it is accepted.
    func refusal(_ request: some Request) async throws -> String? {
        do {
            _ = try await sendBeside(request)
            return nil
        } catch let error as RequestError {
            return error.data?.reason ?? "\(error.code)"
        }
    }

    /// Sends a request on a socket of its own, since one socket takes one request at a time.
    func sendBeside<Params: Request>(_ request: Params) async throws -> Params.Reply {
        try await RequestClient(context: context, thread: thread, endpoint: endpoint)
            .send(request, timeout: .seconds(50))
    }

    /// Starts a session while its publishers describe their streams, as they do each second.
    @discardableResult
    func start(
        _ session: String = "s", _ publishers: FakePublisher..., streams: [String]? = nil, format: String? = nil,
        root: String? = nil, step: String? = nil, maximumFileSize: Int? = nil, maximumFileAge: Double? = nil,
        duration: Double? = nil
    ) async throws -> RecordingStart.Reply {
        let request = RecordingStart(
            session: session, task: "Walk", step: step, streams: streams ?? publishers.map(\.name.description),
            format: format, root: root, maximumFileSize: maximumFileSize, maximumFileAge: maximumFileAge,
            duration: duration)
        return try await describing(publishers) { try await self.send(request) }
    }

    func describing<Result: Sendable>(
        _ publishers: [FakePublisher], _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { tasks in
            tasks.addTask {
                while !Task.isCancelled {
                    for publisher in publishers { try publisher.describe() }
                    try? await Task.sleep(for: .milliseconds(10))
                }
                return nil
            }
            tasks.addTask { try await body() }
            defer { tasks.cancelAll() }
            while let result = try await tasks.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }

    func status(_ session: String = "s") async throws -> RecordingState {
        try await send(RecordingStatus(session: session))
    }

    func stop(_ session: String = "s") async throws -> RecordingResult {
        try await sendBeside(RecordingStop(session: session))
    }

    // MARK: Waiting

    /// Publishes single samples until one arrives that was not replayed: from then on, only the test loses samples.
    func prime(_ publishers: FakePublisher..., session: String = "s") async throws {
        for publisher in publishers {
            let (before, first) = (try await log(of: publisher, session: session), publisher.next)
            try await eventually("the subscription to \(publisher.name)") {
                try publisher.sample()
                return try await self.log(of: publisher, session: session)?.heard ?? 0 > before?.heard ?? 0
            }
            try await has((before?.samples ?? 0) + publisher.next - first, of: publisher, session: session)
        }
    }

    /// Waits until every sample that a publisher took is in its log.
    func hasAll(of publisher: FakePublisher, session: String = "s") async throws {
        try await has(publisher.next, of: publisher, session: session)
    }

    /// Waits until a publisher's log has this many samples.
    func has(_ count: Int, of publisher: FakePublisher, session: String = "s") async throws {
        do {
            try await eventually("\(count) samples of \(publisher.name)") {
                try await self.log(of: publisher, session: session)?.samples == count
            }
        } catch let failure as TestFailure {
            throw TestFailure("\(failure), but \(try await status(session))")
        }
    }

    func log(of publisher: FakePublisher, session: String = "s") async throws -> LogSummary? {
        try await status(session).logs.first { $0.stream == publisher.name }
    }

    // MARK: Metrics

    /// The value of a metric; nil if it is absent.
    /// - Parameter name: its name after `holdfast_recorder_`, with its labels.
    func metric(_ name: String) async -> Double? {
        let start = "holdfast_recorder_\(name) "
        let lines = String(decoding: await metrics().text, as: UTF8.self).split(separator: "\n")
        return lines.first { $0.hasPrefix(start) }.flatMap { Double($0.dropFirst(start.count)) }
    }

    // MARK: Files

    func directory(_ session: String = "s") throws -> SessionDirectory {
        try SessionDirectory.open(SessionIdentifier(session), in: data)
    }

    func path(_ file: String, session: String = "s") throws -> FilePath {
        try directory(session).directory.path.appending(file)
    }

    /// The records of a log's files, one file after the other.
    func records(_ session: String = "s", log: Int = 0) async throws -> [LogItem] {
        let record = try directory(session).record()
        guard record.logs.indices.contains(log) else { throw TestFailure("session.json has no log \(log) yet") }
        let files = record.logs[log].files.map(\.name) + (record.logs[log].file.map { [$0] } ?? [])
        return try files.flatMap { try LogItem.read(path($0, session: session)) }
    }
}

extension LogSummary {
    /// The samples that arrived by themselves.
    fileprivate var heard: Int { samples - recovered }
}
