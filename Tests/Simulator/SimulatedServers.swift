import MessageBus
import Messages
import RelayCore

/// Three NATS servers with a stream of three replicas, in virtual time: the behaviour of JetStream on which relays depend, as
/// measured.
///
/// A message is proposed by the leader, stored once a majority has it, and acknowledged then. A new leader has everything that
/// was stored. It stores or drops messages that were only proposed: the first of them may survive. The answers to requests are in
/// `+requests`.
final class SimulatedServers {
    /// A stored message. Its number in the stream is its index in `stored` plus 1.
    struct Entry {
        let content: RelayedMessage
        let site: String
        let subject: String
        let identifier: String
        /// When the message was stored, in virtual nanoseconds.
        let time: Int64
    }

    /// A message that the leader took, and no majority has yet.
    struct Proposal {
        let number: Int
        let entry: Entry
        let answer: (Sending.Outcome) -> Void
    }

    struct Replica {
        var isUp = true
        /// Whether the server reaches no other server. Clients still reach it.
        var isApart = false
        /// The number of messages in the server's store.
        var applied = 0
        /// The indices of messages that the server lacks permanently. Such a server never leads, or those messages would be lost.
        var missing: Set<Int> = []
        /// Identifiers of messages that the server took as a leader, and that were dropped.
        var remembered: Set<String> = []
        /// Until this time the server answers as a leader, although the others have another one.
        var leadsAlone = Int64.min
    }

    struct Plan {
        /// Whether the servers are older than 2.11: they remember identifiers of dropped messages, report a message that they are
        /// about to store as a repeat, and send one message per request.
        var isOld: Bool
        /// Nanoseconds for which identifiers are remembered.
        var duplicateWindow: Int64
    }

    static let acknowledgementLimit: Int64 = 30_000_000_000

    let plan: Plan
    let simulation: Simulation
    var replicas = Array(repeating: Replica(), count: 3)
    var stored: [Entry] = []
    private(set) var proposals: [Proposal] = []
    private(set) var leader: Int? = 0
    /// Proposals that the next leader stores first.
    private var survivors: [Proposal] = []
    private var term = 0
    private var lastProposal = 0
    /// The indices of each subject's messages.
    private(set) var places: [String: [Int]] = [:]
    /// The index of the last stored message of each identifier.
    private var identifiers: [String: Int] = [:]
    /// Whether the stream accepts no more messages.
    var isFull = false
    /// The durable consumer of the serving relays; nil until one creates it.
    var consumer: SimulatedConsumer?
    /// The stored samples, and when they were stored, by stream and epoch.
    private(set) var samples: [StreamName: [String: [(range: Range<Int>, time: Int64)]]] = [:]

    init(_ plan: Plan, of simulation: Simulation) {
        self.plan = plan
        self.simulation = simulation
    }

    private var now: Int64 { simulation.now }

    /// Whether two replicas reach each other.
    private var hasQuorum: Bool { replicas.filter { $0.isUp && !$0.isApart }.count >= 2 }

    /// Whether there is a leader that can store messages.
    var isServing: Bool { leader.map { replicas[$0].isUp && !replicas[$0].isApart && hasQuorum } ?? false }

    // MARK: Storing

    /// Takes a message that has arrived at a server.
    func publish(
        _ message: Sending.Message, of site: String, at server: Int, _ answer: @escaping (Sending.Outcome) -> Void
    ) {
        guard let seen = leader(seenFrom: server) else {
            // A server that has just lost its leader may accept a message and never answer.
            if simulation.happens(0.8) { answer(.notStored("No responders")) }
            return
        }
        guard let leader, seen == leader else { return }
        let identifier = message.identifier
        if proposals.contains(where: { $0.entry.identifier == identifier }) {
            return answer(plan.isOld ? .stored(isRepeat: true) : .unknown("in process"))
        }
        if isKnown(identifier) || replicas[leader].remembered.contains(identifier) {
            simulation.counts.relay.repeats += 1
            return answer(.stored(isRepeat: true))
        }
        if isFull { return answer(.full("maximum bytes exceeded")) }
        propose(message, of: site, answer)
    }

    private func isKnown(_ identifier: String) -> Bool {
        identifiers[identifier].map { stored[$0].time + plan.duplicateWindow > now } ?? false
    }

    private func propose(
        _ message: Sending.Message, of site: String, _ answer: @escaping (Sending.Outcome) -> Void
    ) {
        let subject = message.content.subject(at: site)
        let headers = Dictionary(message.content.headers.map { ($0.name, $0.value) }) { $1 }
        guard let content = RelayedMessage(subject: subject, headers: headers, data: message.content.data) else {
            return simulation.violate("a message of \(message.content.name) can't be read")
        }
        lastProposal += 1
        let entry = Entry(
            content: content, site: site, subject: subject, identifier: message.identifier, time: now)
        proposals.append(Proposal(number: lastProposal, entry: entry, answer: answer))
        simulation.later(500_000...15_000_000) { [self, term, number = lastProposal] in
            if self.term == term, isServing { commit(upTo: number) }
        }
    }

    private func commit(upTo number: Int) {
        while let first = proposals.first, first.number <= number {
            proposals.removeFirst()
            store(first.entry)
            first.answer(.stored(isRepeat: false))
        }
        replicate()
    }

    private func store(_ entry: Entry) {
        let place = stored.count
        stored.append(
            Entry(
                content: entry.content, site: entry.site, subject: entry.subject, identifier: entry.identifier,
                time: now))
        simulation.counts.relay.messages += 1
        places[entry.subject, default: []].append(place)
        identifiers[entry.identifier] = place
        if let batch = entry.content.place {
            samples[entry.content.name, default: [:]][batch.epoch, default: []].append((batch.from..<batch.end, now))
        }
        // A 2.9 server that was frozen may lack a message permanently.
        if plan.isOld, simulation.relays?.faults.losesInReplica == true, simulation.happens(0.01) {
            replicas[2].missing.insert(place)
        }
        if let leader { replicas[leader].applied = stored.count }
    }

    /// Makes each follower store what the leader has, after a delay.
    func replicate() {
        for index in replicas.indices where index != leader {
            simulation.later(simulation.happens(0.95) ? 100_000...5_000_000 : 10_000_000...2_000_000_000) {
                [self, count = stored.count] in
                guard replicas[index].isUp, !replicas[index].isApart else { return }
                replicas[index].applied = max(replicas[index].applied, count)
            }
        }
    }

    // MARK: Leaders

    /// The server that answers as the stream's leader to clients of a server.
    func leader(seenFrom server: Int) -> Int? {
        guard replicas[server].isUp else { return nil }
        if replicas[server].isApart {
            return leader == server || replicas[server].leadsAlone > now ? server : nil
        }
        guard let leader, replicas[leader].isUp, !replicas[leader].isApart else { return nil }
        return leader
    }

    /// Makes the leader step down, as for an update; another takes its place.
    func stepDown() {
        guard leader != nil else { return }
        leave(isKilled: false)
        elect(after: 100_000_000...1_500_000_000)
    }

    /// Ends the leader's term: the first of its proposals survive on the others, if those had them.
    private func leave(isKilled: Bool) {
        guard let old = leader else { return }
        let count = hasQuorum && !replicas[old].isApart ? simulation.number(0...proposals.count) : 0
        survivors += proposals.prefix(count)
        if plan.isOld, !isKilled {
            for proposal in proposals.dropFirst(count) { replicas[old].remembered.insert(proposal.entry.identifier) }
        }
        simulation.counts.relay.dropped += proposals.count - count
        proposals = []
        leader = nil
        term += 1
        simulation.counts.relay.leaderChanges += 1
    }

    private func elect(after delay: ClosedRange<Int64>) {
        simulation.later(delay) { [self, term] in
            guard self.term == term, leader == nil, hasQuorum else { return }
            let candidates = replicas.indices.filter {
                replicas[$0].isUp && !replicas[$0].isApart && replicas[$0].missing.isEmpty
            }
            guard !candidates.isEmpty else { return }
            let new = candidates[simulation.number(0...(candidates.count - 1))]
            leader = new
            self.term += 1
            replicas[new].leadsAlone = .min
            // No acknowledgement of these is awaited any longer.
            for proposal in survivors { store(proposal.entry) }
            survivors = []
            replicas[new].applied = stored.count
            consumer?.leaderChanged(simulation)
            simulation.note("n\(new) leads the servers")
            replicate()
        }
    }

    // MARK: Faults

    func kill(_ index: Int) {
        guard replicas[index].isUp else { return }
        replicas[index].isUp = false
        (replicas[index].remembered, replicas[index].leadsAlone) = ([], .min)
        settle(index, isKilled: true)
    }

    func start(_ index: Int) {
        guard !replicas[index].isUp else { return }
        replicas[index].isUp = true
        returned(index)
    }

    func part(_ index: Int) {
        guard !replicas[index].isApart else { return }
        replicas[index].isApart = true
        settle(index, isKilled: false)
    }

    func rejoin(_ index: Int) {
        guard replicas[index].isApart else { return }
        replicas[index].isApart = false
        replicas[index].leadsAlone = .min
        returned(index)
    }

    /// Handles a server's absence. If it led, the others notice after seconds, however it ended.
    private func settle(_ index: Int, isKilled: Bool) {
        if isKilled, leader == index {
            leave(isKilled: true)
            return elect(after: 4_000_000_000...8_500_000_000)
        }
        guard leader == index else { return }
        // The server still acts as leader until the others have another one, and for some seconds more.
        simulation.later(4_000_000_000...8_500_000_000) { [self, term] in
            guard self.term == term, leader == index, replicas[index].isApart, hasQuorum else { return }
            replicas[index].leadsAlone = now + Int64(simulation.number(0...6_000_000_000))
            leave(isKilled: false)
            elect(after: 0...500_000_000)
        }
    }

    /// Handles a server's return. It stores what it lacks within 3 s, and proposals that waited for a majority are stored within
    /// 0.5 s.
    private func returned(_ index: Int) {
        simulation.later(50_000_000...3_000_000_000) { [self] in
            guard replicas[index].isUp, !replicas[index].isApart else { return }
            replicas[index].applied = stored.count
        }
        guard let leader else { return elect(after: 1_000_000_000...6_000_000_000) }
        if replicas[leader].isApart { settle(leader, isKilled: false) }
        simulation.later(20_000_000...500_000_000) { [self, term] in
            if self.term == term, isServing, let last = proposals.last { commit(upTo: last.number) }
        }
    }
}
