import MessageBus
import Messages
import RecorderCore
import Recording

/// The connections between programs.
extension Simulation {
    /// A program that subscribes to publishers.
    enum Listener: CaseIterable {
        case recorder
        case stepCounter
        /// The relay of the publisher's site.
        case relay
    }

    /// The listeners in this run.
    var listeners: [Listener] {
        if relays != nil { return [.relay] }
        return stepCounter == nil ? [.recorder] : [.recorder, .stepCounter]
    }

    /// The listeners that a run of this kind may have.
    var possibleListeners: [Listener] { relays == nil ? [.recorder, .stepCounter] : [.relay] }

    /// Nanoseconds between two checks of the connections.
    private static let listening: Int64 = 50_000_000
    /// Nanoseconds in which a listener that hears a publisher must get the samples that it misses.
    private static let patience: Int64 = 4_000_000_000

    private func isRunning(_ listener: Listener, _ index: Int) -> Bool {
        switch listener {
        case .relay: relays?.relay(of: index).isRunning == true
        case .recorder: recorder?.isRunning == true
        case .stepCounter: stepCounter?.isRunning == true
        }
    }

    private func life(of listener: Listener, _ index: Int) -> Int {
        switch listener {
        case .relay: relays?.relay(of: index).life ?? 0
        case .recorder: recorder?.life ?? 0
        case .stepCounter: stepCounter?.life ?? 0
        }
    }

    /// Runs a closure on a publisher's machine, once it is awake.
    func whenAwake(_ index: Int, _ body: @escaping () throws -> Void) throws {
        if let sleep = publishers[index].clock.sleep {
            return at(sleep.upperBound) { [self] in try whenAwake(index, body) }
        }
        try body()
    }

    /// Runs a closure on the machine of the recorder and the other programs, once it is awake.
    func whenMachineAwake(_ body: @escaping () throws -> Void) throws {
        if let sleep = clock.sleep { return at(sleep.upperBound) { [self] in try whenMachineAwake(body) } }
        try body()
    }

    /// Runs a closure on a listener's machine, once it is awake.
    private func whenAwake(_ listener: Listener, _ body: @escaping () throws -> Void) throws {
        if listener == .relay { try body() } else { try whenMachineAwake(body) }
    }

    // MARK: Events

    /// Sends an event to the listeners, which receive it later if nothing prevents that.
    func send(_ event: SimulatedPublisher.Event, of index: Int) {
        for listener in listeners {
            guard isRunning(listener, index), let connection = connections[listener]?[index],
                connection.delivers(at: now)
            else { continue }
            let delay = Int64(number(100_000...5_000_000))
            let time = connections[listener]?[index].arrival(sentAt: now, delay: delay) ?? now
            at(time) { [self, life = life(of: listener, index)] in
                try whenAwake(listener) { [self] in
                    guard isRunning(listener, index), self.life(of: listener, index) == life,
                        connections[listener]?[index].isCut == false
                    else { return }
                    switch listener {
                    case .recorder: try recorder?.take(event)
                    case .stepCounter: try stepCounter?.take(event)
                    case .relay: try relays?.relay(of: index).take(event)
                    }
                }
            }
        }
    }

    // MARK: Requests

    /// Requests samples from a publisher.
    /// - Parameter done: is given nil if the connection breaks.
    func request(
        _ listener: Listener, _ endpoint: String, _ request: SamplesReplay,
        _ done: @escaping ((answer: ReplaySchedule.Answer, frames: [[UInt8]])?) throws -> Void
    ) {
        if relays != nil, listener == .recorder { return requestServed(endpoint, request, done) }
        guard let index = publishers.firstIndex(where: { $0.endpoint == endpoint }) else { return }
        counts.replays += 1
        func lose() { later(1_000_000...1_500_000_000) { try done(nil) } }
        later(200_000...10_000_000) { [self] in
            guard connections[listener]?[index].isOpen(at: now) == true, publishers[index].isRunning else {
                return lose()
            }
            try whenAwake(index) { [self] in
                guard let answer = publishers[index].answer(request) else { return lose() }
                later(200_000...20_000_000) { [self] in
                    if connections[listener]?[index].isCut == true { lose() } else { try done(answer) }
                }
            }
        }
    }

    /// Requests the stream lists of publishers.
    /// - Parameter done: is given the descriptions of those that answer.
    func list(_ listener: Listener, _ endpoints: Set<String>?, _ done: @escaping ([StreamDescription]) throws -> Void) {
        if relays != nil { return listServed(done) }
        let asked = publishers.indices.filter { endpoints?.contains(publishers[$0].endpoint) ?? true }
        later(200_000...10_000_000) { [self] in
            let present = asked.filter {
                publishers[$0].isAwake && connections[listener]?[$0].delivers(at: now) == true
            }
            let descriptions = present.flatMap { publishers[$0].list() }
            later(200_000...20_000_000) { try done(descriptions) }
        }
    }

    // MARK: Finished files

    /// Sends the recorder's events to log-manager and archiver.
    func announce(_ segments: [SegmentFinished], _ events: [RecordingEvent]) {
        if let archiver, archiver.isRunning, !events.isEmpty, !faults.drops || happens(0.8) {
            later(100_000...5_000_000) { [life = archiver.life] in
                for event in events where archiver.isRunning && archiver.life == life { try archiver.take(event) }
            }
        }
        guard let logManager, logManager.isRunning, logManagerLink.delivers(at: now) else { return }
        let time = logManagerLink.arrival(sentAt: now, delay: Int64(number(100_000...5_000_000)))
        at(time) { [life = logManager.life] in
            guard logManager.isRunning, logManager.life == life else { return }
            try logManager.take(segments, events)
        }
    }

    func configurations(of names: [LogName], _ done: @escaping (LogConfigurations.Answers) throws -> Void) {
        guard let logManager, logManager.isRunning, logManagerLink.isOpen(at: now) else {
            return later(50_000_000...1_000_000_000) { try done(LogConfigurations.Answers(isAway: true)) }
        }
        later(100_000...20_000_000) { [self, life = logManager.life] in
            guard logManager.isRunning, logManager.life == life else {
                return later(50_000_000...1_000_000_000) { try done(LogConfigurations.Answers(isAway: true)) }
            }
            var answers = LogConfigurations.Answers()
            for name in names { answers.configurations[name] = .some(logManager.configuration(of: name)) }
            later(100_000...20_000_000) { [answers] in try done(answers) }
        }
    }

    // MARK: Subscriptions

    /// Periodically notes which publishers are heard.
    func listen() {
        later(Self.listening...Self.listening) { [self] in
            for listener in listeners {
                for index in publishers.indices where publishers[index].isAwake && hears(listener, index) {
                    noteHearing(listener, index)
                }
            }
            if relays?.serving.isServing == true, hears(.recorder, 0) { noteHearing(.recorder, 0) }
            listen()
        }
    }

    private func hears(_ listener: Listener, _ index: Int) -> Bool {
        let isTaking =
            listener == .relay
            ? relays?.relay(of: index).takes(publishers[index].names) == true
            : isRunning(listener, index) && clock.sleep == nil
        return isTaking && connections[listener]?[index].isHeard(at: now) == true
    }

    private func noteHearing(_ listener: Listener, _ index: Int) {
        let began = now - Self.listening
        let ranges = hearing[listener]?[index] ?? []
        if let last = ranges.last, last.upperBound >= began {
            hearing[listener]?[index][ranges.count - 1] = last.lowerBound..<now
        } else {
            hearing[listener]?[index].append(now..<now)
        }
    }

    /// Whether a listener heard a publisher long enough to receive a description.
    func isHeard(_ listener: Listener, _ index: Int, from time: Int64, to end: Int64) -> Bool {
        hearing[listener]?[index].contains { min($0.upperBound, end) - max($0.lowerBound, time) >= 2_100_000_000 }
            ?? false
    }

    /// Whether a listener had enough time to get a sample that its publisher kept for a while.
    func couldHave(_ listener: Listener, _ index: Int, from time: Int64, to end: Int64) -> Bool {
        hearing[listener]?[index].contains { min($0.upperBound, end) - max($0.lowerBound, time) >= Self.patience }
            ?? false
    }
}
