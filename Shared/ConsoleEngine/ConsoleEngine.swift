import ConsoleCore
import Files
import Logging
import MessageBus
import Messages
import Metrics
import Runtime
import ServiceKit
import SystemPackage
import WebIdentity
import WebServer
import ZeroMQ

/// Runs a console: passes published events to `LiveView`, carries out its effects, and answers browsers.
///
/// Runs on a thread of its own, separate from the web server's, so that a browser that does not read does not delay receiving.
actor ConsoleEngine: Engine {
    /// A batch of a hundred samples of eight fields takes 16 KB as JSON.
    private static let messageBytes = 20 << 10
    /// A batch of this many messages means that more may be waiting, so the next is taken without a pause.
    private static let fullBatch = 256
    /// How long a reachable publisher may take to reply to a replay request.
    private static let recoveryLimit = Duration.seconds(10)
    /// Limit of bytes that wait for a page: about a second of a hundred streams.
    private static let feedLimit = 512 << 10

    enum Queue: Int, EffectQueueName {
        case subscriptions, recoveries, state, delivery

        var order: EffectOrder {
            switch self {
            case .subscriptions: .inTurn
            case .recoveries: .atOnce
            // Everything that waits is delivered at once.
            case .state, .delivery: .newestOnly
            }
        }
    }

    let thread: SocketThread
    let runtime: Runtime<LiveView.Effect, Queue>
    let core: LiveView
    let programs: ConsolePrograms
    private let pages: ConsolePages
    private let sessions: SessionRoutes
    private let streams: Listener
    private let listeners: [Listener]
    private let publishers: Publishers
    private let server: WebServer
    nonisolated let access: ConsoleAccess
    private var feeds: [Int: ViewerFeed] = [:]
    private var who: [Int: ConnectedViewer] = [:]
    private let data: Directory
    /// Samples left out for viewers that have left.
    private var leftOutBefore = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Connects to the programs, and listens for browsers.
    /// - Throws: `ServiceError` if the console can't listen on the address, or can't read the page's files.
    init(settings: ConsoleSettings, host: ServiceHost) async throws {
        runtime = Runtime(host)
        core = LiveView(at: runtime.now)
        pages = try ConsolePages(in: settings.pages)
        sessions = try SessionRoutes(in: host.configuration.dataDirectory)
        programs = try ConsolePrograms(settings, peers: host.peers)
        publishers = host.peers.publishers
        data = Directory(host.configuration.dataDirectory)
        thread = try SocketThread(name: "console")
        streams = try await host.listenerToStreams(
            at: settings.subscribe, receiveHighWaterMark: settings.receiveHighWaterMark,
            messageBytes: Self.messageBytes)
        listeners = [
            try await host.listener(
                to: [TopicArea.recording, TopicArea.segment], of: .recorder, at: settings.recorderEvents),
            try await host.listener(to: [TopicArea.steps], of: .stepCounter, at: settings.stepCounterEvents),
            try await host.listener(to: [TopicArea.log], of: .logManager, at: settings.logManagerEvents),
            try await host.listener(to: [TopicArea.archive], of: .archiver, at: settings.archiverEvents),
        ]
        let keys = try ConsoleAccess.Keys(settings, at: runtime.now.date)
        do {
            server = try WebServer(
                host: settings.listen.host, port: settings.listen.port, credentials: keys.identity?.credentials)
        } catch let error as Errno {
            throw ServiceError(
                .inputOutput,
                "the page can't be served at \(settings.listen): \(error); choose another port or host with --listen")
        }
        access = ConsoleAccess(settings, keys, port: server.port)
        if let notice = keys.identity?.notice { host.logger.warning("\(notice)") }
    }

    func run() async throws {
        let routes = ConsoleRoutes(
            engine: self, pages: pages, programs: programs, sessions: sessions,
            history: try ConsoleHistory(engine: self, publishers: publishers), access: access)
        let admission = access.admission
        var parts: [@Sendable () async throws -> Void] = listeners.map { listener in
            { try await listener.forEachBatch { await self.take($0) } }
        }
        parts.append { try await self.server.run(admitting: { admission.answer(to: &$0) }) { await routes.answer($0) } }
        parts.append { try await self.streams.forEachBatch { try await self.takeAndRest($0) } }
        let all = parts
        try await serve({ try await runTogether(all) {} })
    }

    /// Takes received messages, and sends at once if that is due: a timer would cost two more thread switches.
    private func take(_ batch: MessageBatch) {
        let now = now
        takeEvents(in: batch, of: publishers, at: now)
        core.wake(at: now)
        perform()
    }

    /// Takes messages, then pauses so that the next ones accumulate: they are sent together anyway, and otherwise each message
    /// would wake three threads.
    private func takeAndRest(_ batch: MessageBatch) async throws {
        take(batch)
        guard batch.count < Self.fullBatch else { return }
        try await wait(until: runtime.monotonic + LiveView.flushInterval) { false }
    }

    // MARK: Viewers

    /// Begins to send events to a viewer.
    /// - Parameters:
    ///   - wanted: the streams; nil for all.
    ///   - role: the viewer's role, which is sent first.
    ///   - address: the viewer's network address.
    /// - Returns: nil if there are too many viewers.
    func join(_ wanted: Set<StreamName>?, as role: Role, at address: String) -> ViewerFeed? {
        removeGone()
        guard let viewer = core.join(wanted, at: now) else { return nil }
        let feed = ViewerFeed(ViewerQueue(limit: Self.feedLimit))
        feed.add(ViewerQueue.Chunk(EventText.roles(role), isGreeting: true))
        feeds[viewer] = feed
        who[viewer] = ConnectedViewer(kind: "page", address: address, role: role, sinceDate: now.date)
        perform()
        return feed
    }

    /// Begins to send a Foxglove client the streams that it subscribes to.
    /// - Returns: nil if there are too many clients.
    func joinFoxglove(as role: Role, at address: String, asking methods: BusMethods) -> FoxgloveSession? {
        removeGone()
        guard let viewer = core.joinFoxglove(as: role) else { return nil }
        let session = FoxgloveSession(engine: self, viewer: viewer, role: role, methods: methods)
        feeds[viewer] = session.feed
        who[viewer] = ConnectedViewer(kind: "foxglove", address: address, role: role, sinceDate: now.date)
        perform()
        return session
    }

    /// Takes a message from a Foxglove client.
    /// - Returns: requests for programs, and the running sessions.
    func take(
        _ message: WebSocketReader.Message, ofFoxglove viewer: Int
    ) -> (requests: [FoxgloveRequest], running: [String]) {
        let requests = core.take(message, ofFoxglove: viewer, at: now)
        perform()
        return (requests, core.runningSessions(at: now) ?? [])
    }

    func answer(_ request: FoxgloveRequest, _ reply: Result<[UInt8], RequestError>, to viewer: Int) {
        core.answer(request, reply, to: viewer, at: now)
        perform()
    }

    private func removeGone() {
        let gone = feeds.filter(\.value.isGone)
        guard !gone.isEmpty else { return }
        for (viewer, feed) in gone {
            feeds[viewer] = nil
            who[viewer] = nil
            leftOutBefore += feed.samplesLeftOut
        }
        core.leave(Set(gone.keys))
        perform()
    }

    /// The state of the programs, as `/api/state` returns it.
    /// - Parameter role: the page's role; nil if the page knows it.
    func state(for role: Role? = nil) async throws -> [UInt8] {
        var state = await ConsoleState.now(of: programs, role: role) { await self.runningSessions }
        // A publisher lists only its own streams.
        state.streams += core.heardStreams(besides: state.streams, at: now)
        return try WireCoding.encode(state)
    }

    private var runningSessions: [String]? { core.runningSessions(at: now) }

    /// The state of the whole system, as `/api/system` returns it.
    func system() async throws -> [UInt8] {
        removeGone()
        let connected = who.sorted { $0.key < $1.key }.map { number, viewer in
            var viewer = viewer
            viewer.waitingBytes = feeds[number]?.waitingBytes ?? 0
            viewer.samplesLeftOut = feeds[number]?.samplesLeftOut ?? 0
            return viewer
        }
        let state = await SystemState.now(
            of: programs, freeBytes: try? data.freeBytes(), connected: connected
        ) { await self.now }
        return try WireCoding.encode(state)
    }

    /// The latest description from a stream's publisher, and the current time; nil if no publisher has the stream.
    func description(of name: StreamName) -> (StreamDescription, Moment)? {
        core.description(of: name).map { ($0, now) }
    }

    // MARK: Effects

    static func queue(of effect: LiveView.Effect) -> Queue? {
        switch effect {
        case .subscribe, .unsubscribe: .subscriptions
        case .recover: .recoveries
        case .lookAtState: .state
        case .send, .notice: nil
        }
    }

    func carryOut(_ effect: LiveView.Effect) {
        switch effect {
        case .notice(let notice): runtime.tell(notice)
        case .send(let chunk, let viewers):
            for viewer in viewers { feeds[viewer]?.add(chunk) }
            runtime.add(.send(chunk, to: []), to: .delivery)
        case .subscribe, .unsubscribe, .recover, .lookAtState: return
        }
    }

    func carryOutQueued(_ effect: LiveView.Effect) async throws {
        switch effect {
        case .subscribe(let topic): await change(topic) { try await self.streams.subscribe(to: topic) }
        case .unsubscribe(let topic): await change(topic) { try await self.streams.unsubscribe(from: topic) }
        case .recover(let name):
            try await publishers.recover(EngineStream(name, of: self), limit: Self.recoveryLimit)
        case .lookAtState:
            removeGone()
            let state = try? await state()
            core.take(state: state)
        case .send: await server.deliver()
        case .notice: return
        }
    }

    private func change(_ topic: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            logger.error("a subscription did not change", metadata: ["topic": "\(topic)", LogKey.error: "\(error)"])
        }
    }

    // MARK: Measures

    func measure() {
        removeGone()
        health.measure(.viewers, core.viewerCount)
        health.measure(.clients, core.clientCount)
        health.measure(.viewedSamples, core.samplesSeen)
        health.measure(.lostSamples, core.samplesLost)
        health.measure(.leftOutSamples, feeds.values.reduce(leftOutBefore) { $0 + $1.samplesLeftOut })
    }
}

extension Metric {
    fileprivate static let viewers = Metric(
        .gauge, "holdfast_console_viewers", "Browsers that see samples and events live.", health: "viewers")
    fileprivate static let clients = Metric(
        .gauge, "holdfast_console_foxglove_clients", "Clients that speak Foxglove's protocol.",
        health: "foxgloveClients")
    fileprivate static let viewedSamples = Metric(
        .counter, "holdfast_console_samples_total", "Samples received for viewers.", health: "samplesTaken")
    fileprivate static let lostSamples = Metric(
        .counter, "holdfast_console_lost_samples_total",
        "Samples that viewers missed because the publisher does not have them any more.", health: "samplesLost")
    fileprivate static let leftOutSamples = Metric(
        .counter, "holdfast_console_left_out_samples_total", "Samples left out for viewers that were too slow.",
        health: "samplesLeftOut")
}
