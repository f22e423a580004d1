import Logging
import LogManager
import MessageBus
import Messages
import ServiceKit
import ServiceLifecycle
import Synchronization
import SystemPackage
import TestSupport
import ZeroMQ

/// A log-manager, set up as its main does, in this process.
final class LogManagerUnderTest: Sendable {
    let data: FilePath
    /// How it says that it is.
    let health: Health
    private let context: Context
    private let thread: SocketThread
    private let endpoint: String
    private let subscriber: Subscriber
    private let recorder: EventPublisher
    private let heard = Mutex<[LogFileEvent]>([])
    private let hasJoined = Mutex(false)

    private init(
        data: FilePath, health: Health, endpoints: ServiceEndpoints, recorder: EventPublisher
    ) async throws {
        self.data = data
        self.health = health
        self.recorder = recorder
        context = try Context()
        thread = try SocketThread(name: "test")
        endpoint = endpoints.reply
        subscriber = try Subscriber(context: context, thread: thread)
        try await subscriber.subscribe(to: TopicArea.log)
        try await subscriber.connect(to: endpoints.publish)
    }

    /// Runs a log-manager as long as a closure does.
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
        let settings = try LogManagerCommand.settings(reading: reader)
        // One that ran before in this process lets go of the directory a little later than a process that ends.
        let running = try await eventualValue("the data directory") {
            do {
                return try await LogManagerCommand.start(settings, on: host)
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
            tasks.addTask { try? await manager.collect() }
            try await withThrowingTaskGroup(of: Void.self) { service in
                service.addTask { try await group.run() }
                try await manager.join { try host.publisher.publish($0) }
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
            .send(request, timeout: .seconds(20))
    }

    /// Why a request is refused; nil if it is not.
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

    /// The paths of those that are not uploaded.
    func pending() async throws -> [String] { try await send(LogsNeedingUpload()).files.map(\.path) }

    // MARK: Events

    /// Publishes what a recorder says until the files are known.
    func announce(_ event: SegmentFinished) async throws {
        try await eventually("\(event.path) in the list") {
            try recorder.publish(event)
            return try await paths().contains(event.path)
        }
    }

    /// What it published, in order.
    var events: [LogFileEvent] { heard.withLock { $0 } }

    /// The crossings of a threshold that were published.
    func crossings(_ threshold: String) -> [LogFileEvent] {
        events.filter { $0.change == .threshold && $0.threshold == threshold }
    }

    /// The paths of files of which an event was published.
    func paths(_ change: LogFileEvent.Change) -> [String] { events.filter { $0.change == change }.compactMap(\.path) }

    private func collect() async throws {
        while true {
            let batch = try await subscriber.next()
            try batch.withUnsafeMessages { messages in
                for message in 0..<messages.count {
                    let event = try EventFrames(message, of: messages).decode(LogFileEvent.self)
                    if event.source == "test" {
                        hasJoined.withLock { $0 = true }
                    } else {
                        heard.withLock { $0.append(event) }
                    }
                }
            }
        }
    }

    /// Publishes a probe until it is heard.
    private func join(_ publish: (LogFileEvent) throws -> Void) async throws {
        let probe = LogFileEvent(source: "test", sequence: 0, name: "probe", change: .marked, date: .now)
        try await eventually("the subscription to log-manager") {
            try publish(probe)
            return hasJoined.withLock { $0 }
        }
    }
}
