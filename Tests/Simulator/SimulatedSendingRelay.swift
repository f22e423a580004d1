import Files
import MessageBus
import Messages
import Recording
import RelayCore
import ServiceKit
import SystemPackage

/// A `relay --to` in virtual time, on the machine of a site: all decisions of the real one, and its spool on a disk.
final class SimulatedSendingRelay: WakingProgram {
    struct Plan {
        let site: String
        let spoolLimit: Int
        let segmentLength: Int
        let windowBytes: Int
        let loadBytes: Int
    }

    private static let recoveryLimit: Int64 = 10_000_000_000
    private static let acknowledgementLimit: Int64 = 3_000_000_000
    /// Nanoseconds after which a stream begins without an answer of the servers, plus the interval between checks.
    private static let patience: Int64 = 6_100_000_000

    let plan: Plan
    let simulation: Simulation
    let clock: MachineClock
    private let servers: SimulatedServers
    let link: ServersLink
    let disk: VirtualDisk
    private let directory: Directory
    private var core: Sending?
    private var log: WriteAheadLog?
    private var cursor: LogCursor?
    private var appending: LogBlock?
    private var lanes: EffectLanes?
    private var replays: SimulatedReplayClient?
    private var topics: Set<[UInt8]> = []
    /// Requests to the servers; one at a time is in progress.
    private var questions: [Sending.Effect] = []
    private var isAsking = false
    /// The time from which the relay takes each stream.
    private var takenFrom: [StreamName: Int64] = [:]
    /// When the relay last lost its disk.
    private(set) var diskLost: Int64?
    private(set) var life = 0
    var wakeTime = Int64.max

    init(
        _ plan: Plan, clock: MachineClock, _ servers: SimulatedServers, disk: VirtualDisk, in data: FilePath,
        of simulation: Simulation
    ) {
        self.plan = plan
        self.clock = clock
        self.servers = servers
        self.disk = disk
        self.simulation = simulation
        directory = Directory(data.appending("spool"))
        link = ServersLink(servers, of: simulation)
    }

    var isRunning: Bool { core != nil }

    /// The machine does not sleep.
    func whenAwake(_ body: @escaping () throws -> Void) throws { try body() }

    func fail(with error: any Error) throws {
        // An error of a program that ended in a call is irrelevant.
        if disk.hasEnded { return }
        throw error
    }

    /// Whether the relay takes everything published for these streams.
    func takes(_ names: [StreamName]) -> Bool {
        guard let core, !core.isBlocked else { return false }
        return names.allSatisfy { takenFrom[$0].map { $0 <= simulation.now } ?? false }
    }

    /// Bytes that wait for the servers.
    var waiting: Int { core?.spoolBytes ?? 0 }

    // MARK: Life

    func start() throws {
        disk.begin()
        life += 1
        let (spool, damage) = try Sending.Spool.open(directory, log: "\(plan.site)-\(life)", calls: disk.calls)
        if let damage { simulation.violate("the spool of \(plan.site) is damaged: \(damage)") }
        var settings = Sending.Settings(
            site: plan.site, servers: "nats://n", publishers: "tcp://p", spoolLimit: plan.spoolLimit,
            holdLimit: 1 << 20, interval: 100_000_000, maximumStreams: 100)
        settings.segmentLength = plan.segmentLength
        (settings.windowBytes, settings.loadBytes) = (plan.windowBytes, plan.loadBytes)
        log = WriteAheadLog(in: directory, synced: spool.synced, calls: disk.calls)
        cursor = LogCursor(in: directory, at: spool.start)
        (appending, topics, questions, isAsking, wakeTime) = (nil, [], [], false, .max)
        takenFrom = spool.streams.mapValues { _ in simulation.now }
        let core = Sending(settings, spool, at: now)
        self.core = core
        lanes = EffectLanes(
            later: { [unowned self] delay, body in later(delay, body) }, afterEach: { [unowned self] in perform() })
        replays = makeReplayClient(of: .relay, limit: Self.recoveryLimit)
        link.begin { [weak self, life] isConnected in
            guard let self, self.life == life else { return }
            core.noteConnected(isConnected, isConnected ? nil : "gone", at: now)
            perform()
        }
        perform()
    }

    /// Kills the program. The data being written is there in part.
    func kill(cutsPower: Bool) throws {
        if let appending {
            disk.end(after: simulation.number(0...4))
            try? log?.append(appending)
        }
        disk.end(after: 0)
        (core, log, cursor, replays) = (nil, nil, nil, nil)
        life += 1
        link.end()
        if cutsPower { try disk.cutPower() }
    }

    /// Deletes the relay's data, as if its disk was replaced.
    func loseDisk() throws {
        diskLost = simulation.now
        for position in try WriteAheadLog.segments(in: directory) {
            try Directory.removeFile(directory.path.appending(WriteAheadLog.name(of: position)))
        }
    }

    /// Makes the program take no more messages, as SIGTERM does.
    func stop() {
        core?.stop(at: now)
        perform()
    }

    // MARK: Arriving messages

    func take(_ event: SimulatedPublisher.Event) throws {
        guard let core, !core.isStopping else { return perform() }
        switch event {
        case .samples(let batch):
            guard topics.contains(batch.topic) else { return }
            try batch.withFrames { _ = try core.take($0, at: now) }
        case .description(let description):
            try SimulatedPublisher.Batch(description, at: now).withFrames { _ = try core.take($0, at: now) }
            if takenFrom[description.name] == nil { takenFrom[description.name] = simulation.now + Self.patience }
        }
        perform()
    }

    var nextDeadline: Int64 { core?.nextDeadline ?? .max }

    func wake() {
        core?.wake(at: now)
        perform()
    }

    // MARK: Effects

    private func perform() {
        guard let core else { return }
        var effects: [Sending.Effect] = []
        if core.takeEffects(into: &effects) { for effect in effects { perform(effect, core) } }
        planWake()
    }

    private func perform(_ effect: Sending.Effect, _ core: Sending) {
        switch effect {
        case .store(let block):
            appending = block
            lanes?.add(to: "spool", simulation.syncTime) { [self] in
                let failure = RecordingError.thrown { () throws(RecordingError) in try log?.append(block) }
                if let failure, disk.hasEnded { throw failure }
                appending = nil
                core.stored(block, failure, at: now)
            }
        case .trim(let position, let current):
            lanes?.add(to: "spool", 0...5_000_000) { [self] in
                _ = try log?.remove(before: position, current: current)
            }
        case .load(let start, let end, let limit):
            lanes?.add(to: "reading", 0...20_000_000) { [self] in try load(from: start, upTo: end, limit, core) }
        case .subscribe(let topic):
            lanes?.add(to: "subscriptions", 0...20_000_000) { [self] in topics.insert(Array(topic.utf8)) }
        case .recover(let name): recover(name, core)
        case .prepare, .ask:
            questions.append(effect)
            askNext(core)
        case .publish(let messages):
            lanes?.add(to: "messages", 0...2_000_000) { [self] in
                for message in messages { publish(message, core) }
                core.handedOver(messages, at: now)
            }
        case .notice(.malformed(let error)): simulation.violate("a message can't be read: \(error)")
        case .notice(.log(_, let message, let metadata)):
            let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            simulation.note("relay of \(plan.site): \(message) \(details.joined(separator: " "))")
        case .notice: break
        }
    }

    private func load(from start: Int, upTo end: Int, _ limit: Int, _ core: Sending) throws {
        var events: [(event: RelayedEvent, position: Int)] = []
        let next = try cursor?.read(from: start, upTo: end, limit: limit) { frame in
            if let event = frame.event.flatMap({ RelayedEvent($0) }) { events.append((event, frame.position)) }
        }
        core.loaded(events, next: next ?? end, at: now)
    }

    // MARK: Servers

    private func askNext(_ core: Sending) {
        guard !isAsking, !questions.isEmpty else { return }
        isAsking = true
        let life = life
        func finish(_ take: () -> Void) {
            guard self.life == life else { return }
            isAsking = false
            take()
            perform()
            askNext(core)
        }
        switch questions.removeFirst() {
        case .ask(let name, let isDescriptionWanted):
            let subject = RelaySubject(site: plan.site, name: name)
            link.ask(within: ServersLink.requestLimit) { [servers] in
                servers.last(of: subject, withDescription: isDescriptionWanted, seenFrom: $0)
            } _: { [self] answer in
                finish {
                    if let stored = answer.value {
                        takenFrom[name] = min(takenFrom[name] ?? .max, simulation.now)
                        core.answered(name, .success(stored), at: now)
                    } else {
                        core.answered(name, .failure(SentenceError("no answer")), at: now)
                    }
                }
            }
        default:
            link.ask(within: ServersLink.requestLimit) { [servers] in
                servers.isLed(seenFrom: $0)
            } _: { [self] answer in
                let known = Sending.Servers(
                    version: servers.plan.isOld ? "older than 2.10" : "2.15.1", isOld: servers.plan.isOld,
                    canSync: !servers.plan.isOld, replicas: 3, duplicateWindow: servers.plan.duplicateWindow, made: 0)
                finish {
                    core.prepared(
                        answer.value == nil ? .failure(SentenceError("no answer")) : .success(known), at: now)
                }
            }
        }
    }

    private func publish(_ message: Sending.Message, _ core: Sending) {
        link.publish(within: Self.acknowledgementLimit) { [servers, site = plan.site] server, answer in
            servers.publish(message, of: site, at: server, answer)
        } _: { [weak self, life] outcome in
            guard let self, self.life == life else { return }
            core.acknowledged([(message.identifier, outcome)], at: now)
            perform()
        }
    }

    // MARK: Missing samples

    private func recover(_ name: StreamName, _ core: Sending) {
        replays?.recover(
            ReplayedStream(
                missing: { [self] in
                    defer { perform() }
                    return core.missing(name, at: now)
                },
                heardSince: { [self] in core.heardSince(name, at: now) },
                take: { [self] reply, frames, request in
                    core.take(frames, count: reply.count, for: request, at: now)
                    perform()
                    return true
                },
                giveUp: { [self] request, reason in
                    core.giveUp(request, reason: reason, at: now)
                    perform()
                    return true
                }))
    }
}

extension SimulatedPublisher.Batch {
    /// A description in its wire form.
    init(_ description: StreamDescription, at now: Moment) {
        var body = ByteBuffer(capacity: 1 << 10)
        description.encode(into: &body)
        self.init(
            topic: Array(description.topic.utf8), body: body.withUnsafeBytes { Array($0) }, packed: nil,
            time: EventTime.text(of: now.date))
    }
}
