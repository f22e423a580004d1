import ArchiverEngine
import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import ServiceLifecycle
import SystemPackage
import TestSupport
import ZeroMQ

/// An archiver in this process, set up as by its `main`.
final class ArchiverUnderTest: Sendable {
    let data: FilePath
    /// The archiver's own health report.
    let health: Health
    private let client: RequestClient
    private let published: PublishedEvents<ArchiveEvent>
    private let recorder: EventPublisher

    private init(
        data: FilePath, health: Health, endpoints: ServiceEndpoints, recorder: EventPublisher
    ) async throws {
        self.data = data
        self.health = health
        self.recorder = recorder
        let context = try Context()
        let thread = try SocketThread(name: "test")
        client = try RequestClient(context: context, thread: thread, endpoint: endpoints.reply)
        published = try await PublishedEvents(
            of: TopicArea.archive, at: endpoints.publish, context: context, thread: thread)
    }

    /// Runs an archiver while a closure runs.
    /// - Parameters:
    ///   - manager: answers for the log manager; nil for no log manager.
    ///   - options: settings by their keys.
    static func run(
        in data: FilePath, manager: LogManagerStandIn? = nil, options: [String: String] = [:],
        _ body: @escaping @Sendable (ArchiverUnderTest) async throws -> Void
    ) async throws {
        let bus = try SocketThread(name: "recorder")
        let context = try Context()
        let (recorder, recorderEndpoint) = try EventPublisher.listening(
            on: "tcp://127.0.0.1:*", context: context, thread: bus)
        var flags = FlagValues()
        flags.set("data", data)
        flags.set("publish", "tcp://127.0.0.1:*")
        flags.set("reply", "tcp://127.0.0.1:*")
        flags.set("subscribe", all: [recorderEndpoint])
        flags.set("rescan-interval", "1s")
        let keeper = try await manager?.listen(on: "tcp://127.0.0.1:*", context, bus)
        // Without a log manager, a port that another socket uses: nothing answers there.
        flags.set("log-manager", keeper?.endpoint ?? recorderEndpoint)
        for (key, value) in options { flags.set(key, value) }
        let reader = try ConfigurationReader(for: .archiver, flags: flags, environment: [:])
        let host = try ServiceHost(
            configuration: ServiceConfiguration(for: .archiver, reading: reader),
            logger: Logger(label: "archiver") { _ in SwiftLogNoOpLogHandler() })
        let settings = try ArchiverSettings(reading: reader)
        let running = try await RunningService.archiver(settings, on: host)
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: running.router, context: host.context, thread: host.thread)
        let endpoints = ServiceEndpoints(publish: host.publishEndpoint, reply: server.endpoint)
        let others = keeper.map { [ReplyService(server: $0)] } ?? []
        let archiver = try await ArchiverUnderTest(
            data: data, health: host.health, endpoints: endpoints, recorder: recorder)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await archiver.published.collect() }
            // Subscribes before the archiver runs, so that no event is missed.
            let probe = ArchiveEvent(
                source: PublishedEvents<ArchiveEvent>.tester, sequence: 0, session: "probe", change: .made, date: .now)
            try await archiver.published.join(probe) { try host.publisher.publish($0) }
            let group = ServiceGroup(
                services: others + [ReplyService(server: server)] + (try running.parts(endpoints)),
                logger: host.logger)
            try await withThrowingTaskGroup(of: Void.self) { service in
                service.addTask { try await group.run() }
                try await withTimeLimit(.seconds(55), "the test") { try await body(archiver) }
                await group.triggerGracefulShutdown()
                try await service.waitForAll()
            }
            tasks.cancelAll()
        }
    }

    // MARK: Requests

    func send<Params: Request>(_ request: Params) async throws -> Params.Reply {
        try await client.send(request, timeout: .seconds(50))
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

    func status(_ session: String) async throws -> ArchiveStatus {
        try await send(ArchiveStatusRequest(session: session))
    }

    /// Waits until a session has this status.
    @discardableResult
    func wait(for session: String, _ state: ArchiveStatus.State) async throws -> ArchiveStatus {
        do {
            return try await eventualValue("\(session) is \(state.rawValue)") {
                let status = try await self.status(session)
                return status.state == state ? status : nil
            }
        } catch {
            throw TestFailure(
                "\(error): \(try await status(session)), events \(events.map { ($0.change.rawValue, $0.reason) })")
        }
    }

    // MARK: Events

    /// The published events, in order.
    var events: [ArchiveEvent] { published.all }

    /// The kinds of the published events about a session, in order.
    func changes(of session: String) -> [String] {
        events.filter { $0.session == session }.map(\.change.rawValue)
    }

    /// Publishes a recorder's event of a session's end until the archiver has received it.
    func announceEnd(of session: String, until isHeard: () async throws -> Bool) async throws {
        try await eventually("the end of \(session) is heard") {
            try recorder.publish(
                RecordingEvent(
                    source: "recorder", sequence: 0, session: session, date: .now, change: .report, status: "finished",
                    step: ""))
            return try await isHeard()
        }
    }
}
