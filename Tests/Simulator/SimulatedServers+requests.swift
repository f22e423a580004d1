import Messages
import RelayCore

/// The servers' answers. Requests come from a client that is connected to one of the servers.
extension SimulatedServers {
    /// The outcome of a request.
    enum Answer<Content> {
        case value(Content)
        case noResponders
        /// No answer arrives.
        case silence

        var value: Content? { if case .value(let content) = self { content } else { nil } }
    }

    /// A message with its number in the stream.
    typealias Numbered = (sequence: Int, entry: Entry)
    typealias Found = SampleSearch<Entry>.Message

    // MARK: The leader

    /// The last message of a subject.
    func last(of subject: String, seenFrom server: Int) -> Answer<Numbered?> {
        askLeader(seenFrom: server) { leader in places(of: subject, at: leader).last.map { ($0 + 1, stored[$0]) } }
    }

    /// The request of a sending relay for the last message.
    func last(of subject: RelaySubject, withDescription: Bool, seenFrom server: Int) -> Answer<Sending.Stored> {
        askLeader(seenFrom: server) { leader in
            func last(_ subject: String) -> RelayedMessage? {
                places(of: subject, at: leader).last.map { stored[$0].content }
            }
            return Sending.Stored(
                last: last(subject.samples)?.place,
                describedAt: withDescription ? last(subject.descriptions)?.events[0].publishedAt : nil)
        }
    }

    /// The last message of a subject, and which samples it has; empty if there is none.
    func lastFound(of subject: String, seenFrom server: Int) -> Answer<[Found]> {
        askLeader(seenFrom: server) { leader in
            guard let last = places(of: subject, at: leader).last else { return [] }
            return found(of: subject, from: UInt64(last) + 1, at: leader, count: 1)
        }
    }

    /// The first message of a subject from a number on.
    func first(of subject: String, from sequence: UInt64, seenFrom server: Int) -> Answer<[Found]> {
        askLeader(seenFrom: server) { leader in found(of: subject, from: sequence, at: leader, count: 1) }
    }

    func subjects(seenFrom server: Int) -> Answer<[String]> {
        askLeader(seenFrom: server) { leader in
            places.keys.filter { !places(of: $0, at: leader).isEmpty }.sorted()
        }
    }

    func isLed(seenFrom server: Int) -> Answer<Bool> { askLeader(seenFrom: server) { _ in true } }

    private func askLeader<Content>(seenFrom server: Int, _ answer: (Int) -> Content) -> Answer<Content> {
        guard replicas[server].isUp else { return .silence }
        guard let leader = leader(seenFrom: server) else {
            return simulation.happens(0.5) ? .noResponders : .silence
        }
        return .value(answer(leader))
    }

    // MARK: Any replica

    /// Messages of a subject from a number on, as any replica has them.
    func direct(of subject: String, from sequence: UInt64, count: Int, seenFrom server: Int) -> Answer<[Found]> {
        guard replicas[server].isUp else { return .silence }
        let reached =
            replicas[server].isApart ? [server] : replicas.indices.filter { replicas[$0].isUp && !replicas[$0].isApart }
        let replica = reached[simulation.number(0...(reached.count - 1))]
        if replicas[replica].applied < stored.count || !replicas[replica].missing.isEmpty {
            simulation.counts.relay.staleAnswers += 1
        }
        return .value(found(of: subject, from: sequence, at: replica, count: plan.isOld ? 1 : count))
    }

    private func found(of subject: String, from sequence: UInt64, at replica: Int, count: Int) -> [Found] {
        let all = places[subject] ?? []
        // The first index that is not before the number.
        var range = 0..<all.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if UInt64(all[middle]) + 1 >= sequence {
                range = range.lowerBound..<middle
            } else {
                range = (middle + 1)..<range.upperBound
            }
        }
        let missing = replicas[replica].missing
        let present = all[range.lowerBound...].lazy.prefix { $0 < self.replicas[replica].applied }
            .filter { !missing.contains($0) }
        return present.prefix(count).compactMap { place in
            stored[place].content.place.map {
                (ServedStream.Mark(sequence: UInt64(place) + 1, place: $0), stored[place])
            }
        }
    }

    private func places(of subject: String, at replica: Int) -> [Int] {
        let (applied, missing) = (replicas[replica].applied, replicas[replica].missing)
        return (places[subject] ?? []).filter { $0 < applied && !missing.contains($0) }
    }

    // MARK: The consumer

    /// Creates the consumer, or resumes it.
    /// - Returns: the last acknowledged and the last delivered message.
    func consume(seenFrom server: Int) -> Answer<(acknowledged: Int, given: Int)> {
        guard isServing, !replicas[server].isApart else { return .silence }
        let known = consumer ?? SimulatedConsumer(begin: stored.count)
        consumer = known
        return .value((known.acknowledged, known.delivered))
    }

    /// A message by its number, from the leader.
    func message(_ sequence: Int, seenFrom server: Int) -> Answer<Numbered?> {
        askLeader(seenFrom: server) { _ in
            stored.indices.contains(sequence - 1) ? (sequence, stored[sequence - 1]) : nil
        }
    }

    /// The next messages for the consumer, with their numbers.
    func fetch(_ limit: Int, seenFrom server: Int) -> Answer<[Numbered]> {
        guard isServing, replicas[server].isUp, !replicas[server].isApart, consumer != nil else { return .silence }
        let sequences = consumer?.next(limit, of: stored.count, at: simulation.now, simulation) ?? []
        return .value(sequences.map { ($0, stored[$0 - 1]) })
    }

    /// Acknowledges a message and all before it. This has no answer.
    func acknowledge(_ sequence: Int, seenFrom server: Int) {
        guard isServing, replicas[server].isUp, !replicas[server].isApart else { return }
        consumer?.acknowledge(sequence)
    }
}

/// A durable consumer: its progress, and its deliveries without an acknowledgement.
struct SimulatedConsumer {
    private(set) var delivered: Int
    private var pending: [(sequence: Int, at: Int64)] = []
    private(set) var acknowledged: Int

    init(begin: Int) { (delivered, acknowledged) = (begin, begin) }

    /// First the messages to redeliver, then new ones.
    mutating func next(_ limit: Int, of stored: Int, at now: Int64, _ simulation: Simulation) -> [Int] {
        var sequences: [Int] = []
        for index in pending.indices where sequences.count < limit {
            guard pending[index].at + SimulatedServers.acknowledgementLimit <= now else { continue }
            sequences.append(pending[index].sequence)
            pending[index].at = now
            simulation.counts.relay.redelivered += 1
        }
        while sequences.count < limit, delivered < stored {
            delivered += 1
            sequences.append(delivered)
            pending.append((delivered, now))
        }
        return sequences
    }

    mutating func acknowledge(_ sequence: Int) {
        pending.removeAll { $0.sequence <= sequence }
        acknowledged = max(acknowledged, sequence)
    }

    /// The new leader may not know the last deliveries: these messages are redelivered at once.
    mutating func leaderChanged(_ simulation: Simulation) {
        guard !pending.isEmpty, simulation.happens(0.3) else { return }
        let kept = simulation.number(0...(pending.count - 1))
        delivered = max(acknowledged, pending[kept].sequence - 1)
        pending.removeSubrange(kept...)
    }
}
