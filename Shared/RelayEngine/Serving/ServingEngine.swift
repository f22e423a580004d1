import FoundationEssentials
import MessageBus
import Messages
import NATS
import RelayCore
import Runtime
import ServiceKit
import Synchronization
import ZeroMQ

/// Runs a relay that serves: passes to `Serving` what comes from NATS, publishes it here, and answers requests for samples.
actor ServingEngine: Engine {
    /// Messages that are fetched at once at most.
    private static let maximumFetch = 500
    /// Batches that are published at once, more or less: a message of what waited at a site has dozens, and subscribers that get more
    /// than they take lose some, which they request again.
    private static let round = 2_000
    /// How long a fetch waits for a message, in milliseconds.
    private static let fetchWait: Int64 = 1_000
    /// The pause before the next try after a failure, in nanoseconds.
    private static let pause: Int64 = 1_000_000_000

    /// The consumer, on its thread.
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
    let retrievers: Retrievers
    private var body = ByteBuffer(capacity: 1 << 12)
    /// Messages that are fetched next, by how many batches those before them had.
    private var fetchLimit = maximumFetch
    private var place = ServedPlace()
    private nonisolated let replay = Mutex("")

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Where `samples.replay` is answered. Set it before anything runs.
    nonisolated var replayEndpoint: String {
        get { replay.withLock { $0 } }
        set { replay.withLock { $0 = newValue } }
    }

    /// - Throws: `ServiceError` for settings that NATS can't use.
    init(settings: RelaySettings, host: ServiceHost) async throws {
        self.settings = settings
        runtime = Runtime(host)
        core = Serving(
            Serving.Settings(servers: settings.servers, maximumStreams: settings.maximumStreams),
            source: Program.relay.rawValue, at: runtime.now)
        fetching = try OwnThread(name: "nats", Consumption())
        link = ServerLink()
        connection = try await link.connect(settings.connection(), on: fetching)
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

    /// Connects anew after the library gave up.
    private func connectAgain() async throws {
        try await wait(until: now.monotonic + Self.pause) { false }
        await fetching.run { [connection] _ in connection.connectAgain() }
    }

    // MARK: Fetching

    /// Takes messages until the task is cancelled.
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

    /// Continues the consumer, and learns what is still sampled.
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
        }
        try await catchUp()
        core.noteServers(isConnected: link.isConnected, problem: nil)
        perform()
    }

    /// Looks at which stream there is, and where the consumer is in it. The stream first: if another one takes its place in between, the
    /// next look shows it.
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

    /// Learns of the streams that the servers have.
    /// - Parameter place: up to this number everything was published here.
    private func know(_ filter: String, publishedUpTo place: UInt64) async throws(NATSError) {
        let (connection, stream) = (connection, settings.natsStream)
        let subjects = try await fetching.run { _ throws(NATSError) in
            try connection.subjects(of: stream, matching: filter)
        }
        let names = Set(subjects.compactMap { RelaySubject($0) })
        for subject in names.sorted(by: { $0.samples < $1.samples }) {
            let (description, last) = try await fetching.run { _ throws(NATSError) in
                // A replica that was away may lack what this program, or the one before it, published already.
                (
                    try connection.lastMessage(
                        of: subject.descriptions, in: stream, headers: RelayedMessage.Header.all),
                    try connection.lastMessage(of: subject.samples, in: stream, headers: RelayedMessage.Header.all)
                )
            }
            if let description = description.flatMap(Serving.Message.init) {
                core.know(
                    description, last: last.flatMap(Serving.Message.init), publishedUpTo: place, at: now)
            } else {
                core.knowUndescribed(subject.name)
            }
            perform()
        }
    }

    /// Gets by their numbers what was given out and did not arrive here, or not before the program before this one ended, and what a
    /// consumer left out that was made anew. The servers give some of it out again, but later, and behind newer messages: recorders
    /// would not know of the end of a publisher's run before the next run begins.
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

    /// Publishes messages here.
    /// - Returns: how many batches they have.
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

    /// Takes the next messages, and acknowledges them once they are published here.
    private func fetchNext() async throws(NATSError) {
        let messages = try await fetching.run { [fetchLimit] consumption throws(NATSError) in
            try consumption.consumer?.fetch(fetchLimit, wait: Self.fetchWait) ?? []
        }
        // What has a number that was published comes again, or is of a stream that was made anew, if another relay was faster to make
        // the consumer.
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

    /// Where the samples of each range are looked for.
    func plans(_ request: SamplesReplay) -> [Result<ReplayPlan, RequestError>] {
        (request.ranges ?? [SamplesReplay.Range(request)]).map { range in
            Result { () throws(RequestError) in try core.plan(range) }
        }
    }

    func noteReplayed(_ samples: Int) { core.noteReplayed(samples) }
}

extension Serving.Message {
    /// - Returns: nil if it is none of a stream.
    init?(_ message: NATSMessage) {
        guard let content = RelayedMessage(message), let subject = RelaySubject(message.subject) else { return nil }
        self.init(content, site: subject.site, sequence: message.sequence, time: message.time)
    }
}

extension RequestRouter {
    /// The methods of a relay that serves.
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
