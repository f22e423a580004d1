import MessageBus
import Messages
import RelayCore
import ServiceKit

/// A `relay --from` in virtual time, on the recorder's machine: all decisions of the real one. Its answers to requests are in
/// `SimulatedRetrieval`.
final class SimulatedServingRelay: WakingProgram {
    private static let maximumFetch = 500
    /// The approximate number of batches published at once.
    private static let round = 2_000
    private static let fetchWait: Int64 = 1_000_000_000
    private static let pause: Int64 = 1_000_000_000
    private static let maximumUnderWay = 16

    let endpoint = "tcp://10.0.1.1:5541"
    let simulation: Simulation
    let servers: SimulatedServers
    let link: ServersLink
    private var core: Serving?
    private var fetchLimit = maximumFetch
    /// Searches that ran out of time.
    var unfinished: [SamplesReplay.Range: SampleSearch<SimulatedServers.Entry>] = [:]
    private var underWay = 0
    private var place = ServedPlace()
    private(set) var life = 0
    var wakeTime = Int64.max

    init(_ servers: SimulatedServers, of simulation: Simulation) {
        self.servers = servers
        self.simulation = simulation
        link = ServersLink(servers, of: simulation)
    }

    var isRunning: Bool { core != nil }

    /// Whether the relay can answer requests for samples.
    var isServing: Bool { link.isServed && core?.hasLearned == true && core?.isConnected == true }

    // MARK: Life

    func start() {
        life += 1
        let core = Serving(Serving.Settings(servers: "nats://n", maximumStreams: 100), source: "relay", at: now)
        core.begin(replayEndpoint: endpoint)
        self.core = core
        (fetchLimit, unfinished, underWay, place, wakeTime) = (Self.maximumFetch, [:], 0, ServedPlace(), .max)
        link.begin { [weak self, life] isConnected in
            guard let self, self.life == life else { return }
            core.noteServers(isConnected: isConnected, problem: isConnected ? nil : "gone")
            perform()
        }
        perform()
        beginFetching(core)
    }

    func kill() {
        core = nil
        life += 1
        link.end()
    }

    var nextDeadline: Int64 { core?.nextDeadline ?? .max }

    func wake() {
        core?.wake(at: now)
        perform()
    }

    private func perform() {
        guard let core else { return }
        var effects: [Serving.Effect] = []
        if core.takeEffects(into: &effects) { for effect in effects { perform(effect) } }
        planWake()
    }

    private func perform(_ effect: Serving.Effect) {
        switch effect {
        case .send(let event):
            let batch = SimulatedPublisher.Batch(
                topic: Array(event.topic.utf8), body: event.body, packed: event.packed, time: event.time)
            simulation.sendServed(.samples(batch))
        case .describe(let description): simulation.sendServed(.description(description))
        case .notice(.malformed(let error)): simulation.violate("a message of the servers can't be read: \(error)")
        case .notice: break
        }
    }

    // MARK: Fetching

    /// Sends a request to the servers, for this life only.
    private func ask<Content>(
        within limit: Int64 = ServersLink.requestLimit, _ core: Serving, isPatient: Bool = false,
        _ question: @escaping (SimulatedServers, Int) -> SimulatedServers.Answer<Content>,
        _ done: @escaping (Content) throws -> Void
    ) {
        let life = life
        link.ask(within: limit) { [servers] in
            question(servers, $0)
        } _: { [self] answer in
            try whenAwake { [self] in
                guard self.life == life else { return }
                if let value = answer.value { return try done(value) }
                if isPatient, case .silence = answer { return beginFetching(core) }
                core.noteServers(isConnected: link.isConnected, problem: "no answer")
                perform()
                later(Self.pause...Self.pause) { [self] in beginFetching(core) }
            }
        }
    }

    /// Resumes the consumer, and learns which streams are still sampled.
    private func beginFetching(_ core: Serving) {
        ask(core) { servers, server in
            servers.consume(seenFrom: server)
        } _: { [self] consumer in
            // The stream and its consumer stay the same in a simulation.
            place.note(
                ServedPlace.Consumer(
                    streamMade: 1, made: 1, acknowledged: UInt64(consumer.acknowledged), given: UInt64(consumer.given)))
            if core.hasLearned { return catchUp(core) }
            ask(core) { servers, server in
                servers.subjects(seenFrom: server)
            } _: { [self] subjects in
                let names = Set(subjects.compactMap { RelaySubject($0) }).sorted { $0.samples < $1.samples }
                know(names[...], publishedUpTo: place.published, core)
            }
        }
    }

    /// Fetches by number the messages that were delivered but did not arrive in this life of the program: the servers redeliver
    /// them after newer ones.
    private func catchUp(_ core: Serving) {
        guard let number = place.missing?.lowerBound else { return fetchFirst(core) }
        ask(core) { servers, server in
            servers.message(Int(number), seenFrom: server)
        } _: { [self] found in
            place.notePublished(upTo: number)
            if let found { take([found], core) }
            catchUp(core)
        }
    }

    private func know(_ names: ArraySlice<RelaySubject>, publishedUpTo number: UInt64, _ core: Serving) {
        guard let subject = names.first else {
            core.finishKnowing()
            return catchUp(core)
        }
        ask(core) { servers, server in
            servers.last(of: subject.descriptions, seenFrom: server)
        } _: { [self] description in
            ask(core) { servers, server in
                servers.last(of: subject.samples, seenFrom: server)
            } _: { [self] last in
                if let description {
                    core.know(message(description), last: last.map(message), publishedUpTo: number, at: now)
                } else {
                    core.knowUndescribed(subject.name)
                }
                perform()
                know(names.dropFirst(), publishedUpTo: number, core)
            }
        }
    }

    private func fetchFirst(_ core: Serving) {
        core.noteServers(isConnected: link.isConnected, problem: nil)
        perform()
        fetch(core)
    }

    /// Fetches the next messages, and acknowledges them once they are published here.
    private func fetch(_ core: Serving) {
        // A fetch without messages ends after its timeout.
        ask(within: Self.fetchWait, core, isPatient: true) { [fetchLimit] servers, server in
            servers.fetch(fetchLimit, seenFrom: server)
        } _: { [self] messages in
            guard let last = messages.last else {
                // The servers answer as soon as there is a message.
                return later(10_000_000...80_000_000) { [self] in fetch(core) }
            }
            let read = take(messages, core)
            place.notePublished(upTo: UInt64(messages.map(\.sequence).max() ?? 0))
            let batches = max(1, read.reduce(0) { $0 + $1.content.events.count })
            fetchLimit = min(Self.maximumFetch, max(1, messages.count * Self.round / batches))
            // The program may end before it has acknowledged them.
            later(0...5_000_000) { [self] in
                link.tell { [servers] in servers.acknowledge(last.sequence, seenFrom: $0) }
                fetch(core)
            }
        }
    }

    /// Publishes messages here.
    @discardableResult private func take(
        _ messages: [SimulatedServers.Numbered], _ core: Serving
    ) -> [Serving.Message] {
        let read = messages.map(message)
        core.take(read, at: now)
        for message in read { simulation.relays?.noteServed(message) }
        perform()
        return read
    }

    private func message(_ found: SimulatedServers.Numbered) -> Serving.Message {
        Serving.Message(
            found.entry.content, site: found.entry.site, sequence: UInt64(found.sequence),
            time: MachineClock.start + found.entry.time)
    }

    // MARK: Requests

    func list() -> [StreamDescription] { core?.list(StreamsList(), at: now).streams ?? [] }

    /// Answers `samples.replay`, unless the program ends before.
    func answer(
        _ request: SamplesReplay, _ done: @escaping ((answer: ReplaySchedule.Answer, frames: [[UInt8]])) throws -> Void
    ) throws {
        guard let core else { return }
        let ranges = request.ranges ?? [SamplesReplay.Range(request)]
        let plans = ranges.map { range in Result { () throws(RequestError) in try core.plan(range) } }
        guard link.isConnected else { return try done((.refusal(.laterAgain("no servers")), [])) }
        guard underWay < Self.maximumUnderWay else { return try done((.refusal(.laterAgain("too many")), [])) }
        underWay += 1
        let life = life
        try SimulatedRetrieval(plans, in: self) { [self] answers in
            guard self.life == life else { return }
            underWay -= 1
            let joined = Result { () throws(RequestError) in try SamplesReplay.joined(answers, to: request.ranges) }
            switch joined {
            case .success(let found): try done((.reply(found.reply, frameCount: found.frames.count), found.frames))
            case .failure(let error): try done((.refusal(error), []))
            }
        }.begin()
    }
}
