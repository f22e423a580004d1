import Messages
import RelayCore

/// A relay's search for requested samples in virtual time: `SampleSearch` and `ReplayCollection` decide, and each of their
/// requests takes time.
final class SimulatedRetrieval {
    typealias Found = (reply: SamplesReplay.Reply, frames: [[UInt8]])
    typealias Entry = SimulatedServers.Entry

    private static let maximumReplyBytes = 4_000_000
    /// The longest time in nanoseconds for a reply.
    private static let limit: Int64 = 1_000_000_000
    private static let batch = 256

    private let relay: SimulatedServingRelay
    private let life: Int
    private let plans: [Result<ReplayPlan, RequestError>]
    private let end: Int64
    private var answers: [Result<Found, RequestError>] = []
    private var left = maximumReplyBytes
    private let done: ([Result<Found, RequestError>]) throws -> Void

    init(
        _ plans: [Result<ReplayPlan, RequestError>], in relay: SimulatedServingRelay,
        _ done: @escaping ([Result<Found, RequestError>]) throws -> Void
    ) {
        self.plans = plans
        self.relay = relay
        self.done = done
        life = relay.life
        end = relay.simulation.now + Self.limit
    }

    func begin() throws { try next() }

    private func next() throws {
        guard answers.count < plans.count else { return try done(answers) }
        switch plans[answers.count] {
        case .failure(let error): try conclude(.failure(error))
        case .success(let plan):
            try search(relay.unfinished.removeValue(forKey: plan.range) ?? SampleSearch<Entry>(plan), plan)
        }
    }

    private func conclude(_ answer: Result<Found, RequestError>) throws {
        if case .success(let found) = answer { left = max(0, left - found.frames.reduce(0) { $0 + $1.count }) }
        answers.append(answer)
        try next()
    }

    private func ask<Content>(
        _ question: @escaping (SimulatedServers, Int) -> SimulatedServers.Answer<Content>,
        _ done: @escaping (Content?) throws -> Void
    ) throws {
        guard relay.simulation.now < end else { return try done(nil) }
        let servers = relay.servers
        relay.link.ask(within: end - relay.simulation.now) {
            question(servers, $0)
        } _: { [self] answer in
            try relay.whenAwake { [self] in if relay.life == life { try done(answer.value) } }
        }
    }

    // MARK: Searching

    private func search(_ search: SampleSearch<Entry>, _ plan: ReplayPlan) throws {
        guard let question = search.next else { return try found(search, plan) }
        try ask { servers, server in
            switch question {
            case .last: servers.lastFound(of: plan.subject, seenFrom: server)
            case .message(let sequence, atLeader: false):
                servers.direct(of: plan.subject, from: sequence, count: 1, seenFrom: server)
            case .message(let sequence, atLeader: true):
                servers.first(of: plan.subject, from: sequence, seenFrom: server)
            case .messages(let sequence):
                servers.direct(of: plan.subject, from: sequence, count: Self.batch, seenFrom: server)
            }
        } _: { [self] messages in
            var search = search
            guard let messages else {
                relay.unfinished[plan.range] = search
                return try conclude(.failure(.laterAgain("no answer in time")))
            }
            search.take(messages)
            try self.search(search, plan)
        }
    }

    private func found(_ search: SampleSearch<Entry>, _ plan: ReplayPlan) throws {
        let collection = ReplayCollection(
            epoch: plan.range.epoch, from: plan.range.from, count: plan.range.count,
            maximumBytes: left / (plans.count - answers.count))
        switch search.outcome {
        case .found(let message), .hole(before: let message): try collect([message], plan, into: collection)
        case .unclear, nil: try conclude(.failure(.laterAgain("a server lacks it")))
        case .unknownEpoch: try conclude(.failure(RequestError(.unknownEpoch, "nothing is stored of it")))
        case .nothing:
            try ask { servers, server in
                servers.last(of: plan.subject, seenFrom: server)
            } _: { [self] last in
                let place = last??.entry.content.place
                let isMissing = last == nil || place?.epoch == plan.range.epoch && place?.end ?? 0 > plan.range.from
                if isMissing { return try conclude(.failure(.laterAgain("not fetched yet"))) }
                try conclude(.success(answer(collection, plan)))
            }
        }
    }

    private func collect(
        _ messages: [SimulatedServers.Found], _ plan: ReplayPlan, into collection: ReplayCollection
    ) throws {
        var collection = collection
        for message in messages where !collection.add(message.content.content) {
            return try conclude(.success(answer(collection, plan)))
        }
        guard let last = messages.last else { return try conclude(.success(answer(collection, plan))) }
        try ask { servers, server in
            servers.direct(of: plan.subject, from: last.mark.sequence + 1, count: Self.batch, seenFrom: server)
        } _: { [self] following in
            // The samples found so far are an answer, even if the servers return no more.
            try collect(following ?? [], plan, into: collection)
        }
    }

    private func answer(_ collection: ReplayCollection, _ plan: ReplayPlan) -> Found {
        let from = collection.first ?? plan.range.from
        return (
            SamplesReplay.Reply(
                from: from, count: collection.count, first: from, last: max(collection.next, plan.knownEnd) - 1),
            collection.frames
        )
    }
}
