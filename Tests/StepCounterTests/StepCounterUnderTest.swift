import Logging
import MessageBus
import Messages
import ServiceKit
import ServiceLifecycle
import StepCounterEngine
import SystemPackage
import TestSupport
import ZeroMQ

/// A step counter in this process, set up as by its `main`.
final class StepCounterUnderTest: Sendable {
    enum End {
        /// As by SIGTERM.
        case inOrder
        /// As by SIGKILL: nothing more is stored.
        case killed
    }

    let data: FilePath
    /// The step counter's own health report.
    let health: Health
    let outcome: @Sendable () -> ExitStatus
    private let context: Context
    private let thread: SocketThread
    private let endpoints: ServiceEndpoints
    private let published: PublishedEvents<StepEvent>

    private init(
        data: FilePath, health: Health, endpoints: ServiceEndpoints, outcome: @escaping @Sendable () -> ExitStatus
    ) async throws {
        self.data = data
        self.health = health
        self.endpoints = endpoints
        self.outcome = outcome
        context = try Context()
        thread = try SocketThread(name: "test")
        published = try await PublishedEvents(
            of: TopicArea.steps, at: endpoints.publish, context: context, thread: thread)
    }

    /// Runs a step counter in its own directory, and the publishers to which it listens, while a closure runs.
    /// - Parameter options: settings by their keys; a list's values are separated by commas.
    static func run(
        listeningTo publishers: [WalkingPublisher], options: [String: String] = [:],
        _ body: @escaping @Sendable (StepCounterUnderTest) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { data in
            try await whileRunning(publishers) {
                try await run(in: data, listeningTo: publishers, options: options, body)
            }
        }
    }

    /// Lets publishers describe themselves and answer while a closure runs.
    static func whileRunning(_ publishers: [WalkingPublisher], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for publisher in publishers { tasks.addTask { try? await publisher.run() } }
            defer { tasks.cancelAll() }
            try await body()
        }
    }

    /// Runs a step counter while a closure runs.
    static func run(
        in data: FilePath, listeningTo publishers: [WalkingPublisher], options: [String: String] = [:],
        end: End = .inOrder, _ body: @escaping @Sendable (StepCounterUnderTest) async throws -> Void
    ) async throws {
        var flags = FlagValues()
        flags.set("data", data)
        flags.set("publish", "tcp://127.0.0.1:*")
        flags.set("reply", "tcp://127.0.0.1:*")
        flags.set("subscribe", all: publishers.isEmpty ? ["inproc://nobody"] : publishers.map(\.endpoint))
        for (key, value) in options {
            if value.contains(",") { flags.set(key, all: value.split(separator: ",")) } else { flags.set(key, value) }
        }
        let reader = try ConfigurationReader(for: .stepCounter, flags: flags, environment: [:])
        let host = try ServiceHost(
            configuration: ServiceConfiguration(for: .stepCounter, reading: reader),
            logger: Logger(label: "step-counter") { _ in SwiftLogNoOpLogHandler() })
        let settings = try StepCounterSettings(reading: reader)
        // A previous step counter in this process releases the directory a little later than an ended process would.
        let running = try await eventualValue("the data directory") {
            do {
                return try await RunningService.stepCounter(settings, on: host)
            } catch let error as ServiceError where error.message.contains("uses it") {
                return nil
            }
        }
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: running.router, context: host.context, thread: host.thread)
        let endpoints = ServiceEndpoints(publish: host.publishEndpoint, reply: server.endpoint)
        let group = ServiceGroup(
            services: [ReplyService(server: server)] + (try running.parts(endpoints)), logger: host.logger)
        let counter = try await StepCounterUnderTest(
            data: data, health: host.health, endpoints: endpoints, outcome: running.outcome)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await counter.published.collect() }
            try await withThrowingTaskGroup(of: Void.self) { service in
                // Before any publisher can be found.
                let probe = StepEvent(
                    source: PublishedEvents<StepEvent>.tester, sequence: 0, device: "probe", change: .pause, date: .now)
                try await counter.published.join(probe) { try host.publisher.publish($0) }
                service.addTask { try await group.run() }
                try await withTimeLimit(.seconds(150), "the test") { try await body(counter) }
                switch end {
                case .inOrder:
                    await group.triggerGracefulShutdown()
                    try await service.waitForAll()
                case .killed:
                    service.cancelAll()
                    while let _ = try? await service.next() {}
                }
            }
            tasks.cancelAll()
        }
    }

    // MARK: Requests

    func send<Params: Request>(_ request: Params) async throws -> Params.Reply {
        try await RequestClient(context: context, thread: thread, endpoint: endpoints.reply)
            .send(request, timeout: .seconds(60))
    }

    /// The reason code of a refusal; nil if the request succeeds.
    func refusal(_ request: some Request) async throws -> String? {
        do {
            _ = try await send(request)
            return nil
        } catch let error as RequestError {
            return error.data?.reason ?? "\(error.code)"
        }
    }

    func start(_ device: String = "phone", updateOn: Int) async throws -> String {
        try await send(StepsStartUpdates(device: device, updateOn: updateOn)).subscription
    }

    func stop(_ subscription: String) async throws -> Int {
        try await send(StepsStopUpdates(subscription: subscription)).numberOfSteps
    }

    /// All steps of a device in the history, whatever their dates.
    func steps(_ device: String = "phone") async throws -> Int {
        let now = WallTime.now.seconds
        return try await send(
            StepsQuery(device: device, from: WallTime(seconds: now - 9e8), to: WallTime(seconds: now + 9e8))
        ).numberOfSteps
    }

    /// Waits until this many steps of a device are counted.
    func counts(_ count: Int, of device: String = "phone") async throws {
        try await eventually("\(count) steps of \(device)", within: .seconds(90)) {
            let steps = try await steps(device)
            guard steps <= count else { throw TestFailure("\(steps) steps of \(device), more than \(count)") }
            return steps == count
        }
    }

    /// Waits until a device is counted.
    func isCounting(_ device: String = "phone") async throws {
        try await eventually("\(device) to be counted") { try await send(StepsIsAvailable(device: device)).available }
    }

    /// Waits until a publisher's batches arrive. Samples published before the subscription are only replayed.
    func hears(_ publisher: WalkingPublisher) async throws {
        try await eventually("the counter to hear \(publisher.name)") {
            try publisher.publish(0..<1)
            return health.reply.measures?["delayMedianSeconds"] != nil
        }
    }

    // MARK: Events

    /// The published events, in order.
    var events: [StepEvent] { published.all }

    /// The published totals of a subscription.
    func totals(_ subscription: String) -> [Int] {
        events.filter { $0.subscription == subscription }.compactMap(\.numberOfSteps)
    }

    /// A separate subscriber to the step counter's events.
    func subscriber() async throws -> Subscriber {
        let subscriber = try Subscriber(context: context, thread: thread)
        try await subscriber.subscribe(to: TopicArea.steps)
        try await subscriber.connect(to: endpoints.publish)
        return subscriber
    }
}
