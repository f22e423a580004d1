import Logging
import LogManagerEngine
import MessageBus
import Messages
import ServiceKit
import ServiceLifecycle
import SystemPackage
import TestSupport
import ZeroMQ

/// A log manager in this process, set up as by its `main`.
final class LogManagerUnderTest: Sendable {
    let data: FilePath
    /// The log manager's own health report.
    let health: Health
    private let context: Context
    private let thread: SocketThread
    private let endpoint: String
    private let published: PublishedEvents<LogFileEvent>
    private let recorder: EventPublisher

    private init(
        data: FilePath, health: Health, endpoints: ServiceEndpoints, recorder: EventPublisher
    ) async throws {
        self.data = data
        self.health = health
        self.recorder = recorder
        context = try Context()
        thread = try SocketThread(name: "test")
        endpoint = endpoints.reply
        published = try await PublishedEvents(
            of: TopicArea.log, at: endpoints.publish, context: context, thread: thread)
    }

    /// Runs a log manager while a closure runs.
    /// - Parameter options: settings by their keys.
    static func run(
        in data: FilePath, options: [String: String] = [:],
        _ body: @escaping @Sendable (LogManagerUnderTest) async throws -> Void
    ) async throws {
        let bus = try SocketThread(name: "recorder")
        let (recorder, recorderEndpoint) = try EventPublisher.listening(
            on: "tcp://127.0.0.1:*", context: Context(), thread: bus)
        var flags = FlagValues()
        flags.set("data", data)
        flags.set("publish", "tcp://127.0.0.1:*")
        flags.set("reply", "tcp://127.0.0.1:*")
        flags.set("subscribe", all: [recorderEndpoint])
        for (key, value) in options { flags.set(key, value) }
        let reader = try ConfigurationReader(for: .logManager, flags: flags, environment: [:])
        let host = try ServiceHost(
            configuration: ServiceConfiguration(for: .logManager, reading: reader),
            logger: Logger(label: "log-manager") { _ in SwiftLogNoOpLogHandler() })
        let settings = try LogManagerSettings(reading: reader)
        // A previous log manager in this process releases the directory a little later than an ended process would.
        let running = try await eventualValue("the data directory") {
            do {
                return try await RunningService.logManager(settings, on: host)
            } catch let error as ServiceError where error.message.contains("uses it") {
                return nil
            }
        }
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: running.router, context: host.context, thread: host.thread)
        let endpoints = ServiceEndpoints(publish: host.publishEndpoint, reply: server.endpoint)
        let group = ServiceGroup(
            services: [ReplyService(server: server)] + (try running.parts(endpoints)), logger: host.logger)
        let manager = try await LogManagerUnderTest(
            data: data, health: host.health, endpoints: endpoints, recorder: recorder)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await manager.published.collect() }
            try await withThrowingTaskGroup(of: Void.self) { service in
                service.addTask { try await group.run() }
                let probe = LogFileEvent(
                    source: PublishedEvents<LogFileEvent>.tester, sequence: 0, name: "probe", change: .marked,
                    date: .now)
                try await manager.published.join(probe) { try host.publisher.publish($0) }
                try await withTimeLimit(.seconds(55), "the test") { try await body(manager) }
                await group.triggerGracefulShutdown()
                try await service.waitForAll()
            }
            tasks.cancelAll()
        }
    }

    // MARK: Requests

    func send<Params: Request>(_ request: Params) async throws -> Params.Reply {
        try await RequestClient(context: context, thread: thread, endpoint: endpoint)
            .send(request, timeout: .seconds(50))
    }

    /// The error that a request is refused with; nil if it succeeds.
    func refusal(_ request: some Request) async throws -> RequestError? {
        do {
            _ = try await send(request)
            return nil
        } catch let error as RequestError {
            return error
        }
    }

    /// The paths of finished files, oldest first.
    func paths(_ log: String? = nil) async throws -> [String] {
        try await send(LogsList(name: log)).files.map(\.path)
    }

    /// The paths of files that are not uploaded.
    func pending() async throws -> [String] { try await send(LogsNeedingUpload()).files.map(\.path) }

    // MARK: Events

    /// Publishes a recorder's event until its files are known.
    func announce(_ event: SegmentFinished) async throws {
        try await eventually("\(event.path) in the list") {
            try recorder.publish(event)
            return try await paths().contains(event.path)
        }
    }

    /// The published events, in order.
    var events: [LogFileEvent] { published.all }

    /// The published crossings of a threshold.
    func crossings(_ threshold: String) -> [LogFileEvent] {
        events.filter { $0.change == .threshold && $0.threshold == threshold }
    }

    /// The paths of files with a published event of this kind.
    func paths(_ change: LogFileEvent.Change) -> [String] { events.filter { $0.change == change }.compactMap(\.path) }
}
