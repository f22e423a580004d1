import FoundationEssentials
import MessageBus
import Messages
import NATS
import RelayCore
import Runtime
import ServiceKit
import Synchronization
import ZeroMQ

/// Runs a serving relay: passes messages from NATS to `Serving`, publishes them here, and answers requests for samples.
actor ServingEngine: Engine {
    /// The maximum number of messages per fetch.
    private static let maximumFetch = 500
    /// The approximate number of batches published at once. A message that waited at a site has dozens of batches, and slow
    /// subscribers lose some, which they request again.
    private static let round = 2_000
    /// How long a fetch waits for a message, in milliseconds.
    private static let fetchWait: Int64 = 1_000
    /// The pause before the next attempt after a failure, in nanoseconds.
    private static let pause: Int64 = 1_000_000_000

    /// The consumer, confined to its thread.
    private final class Consumption {
        var consumer: NATSConsumer?
    }

    let thread: SocketThread
    let runtime: Runtime<Serving.Effect, NoQueue>
    let core: Serving
    private let settings: RelaySettings
    private let link: ServerLink
    private let connection: NATSConnection
    private let fetching: OwnThread<Consumption>
    /// Nil once the streams are known.
    private var lastMessages: LastMessages?
    let retrievers: Retrievers
    private var body = ByteBuffer(capacity: 1 << 12)
    /// The size of the next fetch, adapted to the number of batches in recent messages.
    private var fetchLimit = maximumFetch
    private var place = ServedPlace()
    private nonisolated let replay = Mutex("")

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// The endpoint that answers `samples.replay`. Set it before anything runs.
    nonisolated var replayEndpoint: String {
        get { replay.withLock { $0 } }
        set { replay.withLock { $0 = newValue } }
    }

    /// - Throws: `ServiceError` if NATS cannot use the settings.
    init(settings: RelaySettings, host: ServiceHost) async throws {
        self.settings = settings
        runtime = Runtime(host)
        core = Serving(
            Serving.Settings(servers: settings.servers, maximumStreams: settings.maximumStreams),
            source: Program.relay.rawValue, at: runtime.now)
        fetching = try OwnThread(name: "nats", Consumption())
        link = ServerLink()
        connection = try await link.connect(settings.connection(), on: fetching)
        lastMessages = try LastMessages(connection, stream: settings.natsStream)
        retrievers = try Retrievers(connection, link, stream: settings.natsStream, clock: Self.clock)
        thread = try SocketThread(name: "relay")
    }

    func run() async throws {
        core.begin(replayEndpoint: replayEndpoint)
        try await serve(
            { try await self.fetch() },
            { try await self.link.forEachNews(on: self.thread) { await self.noteConnection() } },
            { try await self.link.forEachLoss(on: self.thread) { try await self.connectAgain() } })
    }

    private func noteConnection() async {
        core.noteServers(isConnected: link.isConnected, problem: nil)
        perform()
        guard !link.isConnected else { return }
        let problem = await fetching.run { [connection] _ in connection.problem }
        if !link.isConnected { core.noteServers(isConnected: false, problem: problem) }
        perform()
    }

    /// Reconnects after the library gave up.
    private func connectAgain() async throws {
        try await wait(until: now.monotonic + Self.pause) { false }
        await fetching.run { [connection] _ in connection.connectAgain() }
    }

    // MARK: Fetching

    /// Fetches messages until the task is cancelled.
    private func fetch() async throws {
        while true {
            do throws(NATSError) {
                try await beginFetching()
                while !Task.isCancelled { try await fetchNext() }
            } catch {
                core.noteServers(isConnected: link.isConnected, problem: "\(error)")
                perform()
            }
            try Task.checkCancellation()
            try await wait(until: now.monotonic + Self.pause) { false }
        }
    }

    /// Opens the consumer, and on first use learns which streams are active.
    private func beginFetching() async throws(NATSError) {
        let (connection, name, stream) = (connection, settings.consumerName, settings.natsStream)
        let filter = RelaySubject.everything(of: settings.servedSite)
        try await fetching.run { consumption throws(NATSError) in
            consumption.consumer = nil
            consumption.consumer = try NATSConsumer(
                name, of: stream, filter: filter, headers: RelayedMessage.Header.all, connection)
        }
        try await inspect()
        if !core.hasLearned {
            try await know(filter, publishedUpTo: place.published)
            core.finishKnowing()
            lastMessages = nil
        }
        try await catchUp()
        core.noteServers(isConnected: link.isConnected, problem: nil)
        perform()
    }

    /// Inspects the stream, then the consumer's place in it. The stream comes first: if it is replaced in between, the next
    /// inspection detects that.
    private func inspect() async throws(NATSError) {
        let (connection, stream) = (connection, settings.natsStream)
        let (state, consumer) = try await fetching.run { consumption throws(NATSError) in
            (try connection.streamState(stream), try consumption.consumer?.place())
        }
        guard let consumer else { return }
        core.noteStream(madeAt: state.made)
        place.note(
            ServedPlace.Consumer(
                streamMade: state.made, made: consumer.made, acknowledged: consumer.acknowledged, given: consumer.given)
        )
        perform()
    }

    /// Learns which streams the servers have.
    /// - Parameter place: everything up to this number was published here.
    private func know(_ filter: String, publishedUpTo place: UInt64) async throws(NATSError) {
        guard let lastMessages else { return }
        let (connection, stream) = (connection, settings.natsStream)
        let (subjects, time) = try await fetching.run { _ throws(NATSError) in
            (
                try connection.subjects(of: stream, matching: filter),
                try connection.serverTime(leading: stream)
            )
        }
        if let time = time.flatMap({ try? WallTime(iso8601: $0) }) {
            core.noteServers(time: time.nanosecondsSince1970, at: now)
        }
        var left = Set(subjects.compactMap { RelaySubject($0) }).sorted { $0.samples < $1.samples }[...]
        while !left.isEmpty {
            for (subject, last) in try await lastMessages.find(left.prefix(LastMessages.maximumAtOnce)) {
                if let description = last.description.flatMap(Serving.Message.init) {
                    core.know(
                        description, last: last.samples.flatMap(Serving.Message.init), publishedUpTo: place, at: now)
                } else {
                    core.knowUndescribed(subject.name)
                }
            }
            perform()
            left = left.dropFirst(LastMessages.maximumAtOnce)
        }
    }

    /// Fetches by number the messages that were delivered but did not arrive here or in the previous run, and those that a
    /// recreated consumer skipped. The servers redeliver some of them, but only after newer messages: recorders would learn the
    /// end of a publisher's run after the next run begins.
    private func catchUp() async throws(NATSError) {
        let (connection, stream) = (connection, settings.natsStream)
        let filter = RelaySubject.everything(of: settings.servedSite)
        while let missing = place.missing, !Task.isCancelled {
            let message = try await fetching.run { _ throws(NATSError) in
                try connection.sequenceAtLeader(of: filter, in: stream, from: missing.lowerBound).map {
                    sequence throws(NATSError) in
                    (sequence, try connection.message(at: sequence, in: stream, headers: RelayedMessage.Header.all))
                }
            }
            guard let (sequence, content) = message, sequence <= missing.upperBound else {
                return place.notePublished(upTo: missing.upperBound)
            }
            place.notePublished(upTo: sequence)
            if let content { _ = publish([content]) }
        }
    }

    /// - Returns: the number of batches published, at least 1.
    private func publish(_ messages: [NATSMessage]) -> Int {
        var read: [Serving.Message] = []
        read.reserveCapacity(messages.count)
        for message in messages {
            if let known = Serving.Message(message) { read.append(known) } else { core.noteUnreadable() }
            place.notePublished(upTo: message.sequence)
        }
        core.take(read, at: now)
        perform()
        return max(1, read.reduce(0) { $0 + $1.content.events.count })
    }

    /// Fetches the next messages and acknowledges them after they are published here.
    private func fetchNext() async throws(NATSError) {
        let messages = try await fetching.run { [fetchLimit] consumption throws(NATSError) in
            try consumption.consumer?.fetch(fetchLimit, wait: Self.fetchWait) ?? []
        }
        // A number that was already published means a redelivery, or a recreated stream whose consumer another relay created
        // first.
        if messages.first.map({ $0.sequence <= place.published }) ?? true {
            try await inspect()
            try await catchUp()
            if messages.isEmpty { return }
        }
        let batches = publish(messages)
        fetchLimit = min(Self.maximumFetch, max(1, messages.count * Self.round / batches))
        try await fetching.run { consumption throws(NATSError) in try consumption.consumer?.acknowledge() }
    }

    // MARK: Publishing

    func carryOut(_ effect: Serving.Effect) {
        switch effect {
        case .send(let event):
            runtime.outgoing.append(
                topic: Array(event.topic.utf8), body: event.body, packed: event.packed, time: event.time)
        case .describe(let description):
            body.removeAll()
            description.encode(into: &body)
            runtime.outgoing.append(topic: Array(description.topic.utf8), body: body, packed: nil, at: runtime.date)
        case .notice(let notice): runtime.tell(notice)
        }
    }

    // MARK: Requests

    func list(_ request: StreamsList) -> StreamsList.Reply { core.list(request, at: now) }

    /// Where to search for the samples of each range.
    func plans(_ request: SamplesReplay) -> [Result<ReplayPlan, RequestError>] {
        (request.ranges ?? [SamplesReplay.Range(request)]).map { range in
            Result { () throws(RequestError) in try core.plan(range) }
        }
    }

    func noteReplayed(_ samples: Int) { core.noteReplayed(samples) }
}

extension Serving.Message {
    /// - Returns: nil if the message does not belong to a stream.
    init?(_ message: NATSMessage) {
        guard let content = RelayedMessage(message), let subject = RelaySubject(message.subject) else { return nil }
        self.init(content, site: subject.site, sequence: message.sequence, time: message.time)
    }
}

extension RequestRouter {
    init(_ engine: ServingEngine) {
        self.init()
        on(StreamsList.self) { await engine.list($0) }
        onWithFrames(SamplesReplay.self) { request in
            let answer = try await engine.retrievers.answer(request, await engine.plans(request))
            await engine.noteReplayed(answer.samples)
            return (answer.reply, answer.frames)
        }
    }
}
