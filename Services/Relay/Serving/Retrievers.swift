import Messages
import NATS
import RelayCore
import Runtime
import Synchronization
import ZeroMQ

/// Answers requests for samples from a stream of NATS, several at the same time: each waits for servers.
struct Retrievers: Sendable {
    /// A reply has about so many bytes at most. What is more is requested again.
    private static let maximumReplyBytes = 4_000_000
    private static let maximumRanges = 1_000
    /// How long a reply may take, in nanoseconds; what was not found by then is requested again. Shorter than recorders wait, which is
    /// 2 s: they give samples up after 10 s without any answer.
    private static let limit: Int64 = 1_500_000_000
    private static let threadCount = 4
    private static let maximumUnderWay = 16

    private final class State: Sendable {
        let underWay = Mutex((count: 0, next: 0))
    }

    private let threads: [OwnThread<Retriever>]
    private let state = State()
    private let clock: @Sendable () -> Moment

    /// - Parameter clock: this machine's clocks.
    init(_ connection: NATSConnection, stream: String, clock: @escaping @Sendable () -> Moment) throws(ZeroMQError) {
        self.clock = clock
        var threads: [OwnThread<Retriever>] = []
        for index in 0..<Self.threadCount {
            threads.append(try OwnThread(name: "replays \(index)", Retriever(connection, stream: stream, clock)))
        }
        self.threads = threads
    }

    /// Answers a request.
    /// - Parameter plans: where the samples of each of its ranges are looked for, or why they are not.
    func answer(
        _ request: SamplesReplay, _ plans: [Result<ReplayPlan, RequestError>]
    ) async throws(RequestError) -> (reply: SamplesReplay.Reply, frames: [[UInt8]], samples: Int) {
        guard plans.count <= Self.maximumRanges else {
            throw RequestError(
                .invalidParameter,
                "\(plans.count) ranges are too many for a request: give at most \(Self.maximumRanges)")
        }
        guard let index = begin() else { throw .laterAgain("too many requests for samples wait") }
        defer { state.underWay.withLock { $0.count -= 1 } }
        let end = clock().monotonic + Self.limit
        let answers = await threads[index].run { retriever in
            var left = Self.maximumReplyBytes
            return plans.enumerated().map { index, plan in
                Result { () throws(RequestError) in
                    let found = try retriever.find(plan.get(), maximumBytes: left / (plans.count - index), until: end)
                    left = max(0, left - found.frames.reduce(0) { $0 + $1.count })
                    return found
                }
            }
        }
        let (reply, frames) = try SamplesReplay.joined(answers, to: request.ranges)
        return (reply, frames, reply.ranges?.reduce(0) { $0 + $1.count } ?? reply.count)
    }

    /// - Returns: which thread it is for; nil if there is too much to do.
    private func begin() -> Int? {
        state.underWay.withLock { underWay in
            guard underWay.count < Self.maximumUnderWay else { return nil }
            underWay.count += 1
            underWay.next = (underWay.next + 1) % Self.threadCount
            return underWay.next
        }
    }
}

/// Finds samples in a stream of NATS. Confined to one thread.
final class Retriever {
    /// How often it is looked for samples that must be stored: a replica may not have them yet.
    private static let attempts = 3
    /// So many samples before a hole is looked for a message that has what seems to be missing.
    private static let overlap = 2_000
    /// Messages that are got in one request.
    private static let batch = 256
    private static let silence = "the servers did not answer in time"

    private let connection: NATSConnection
    private let stream: String
    private let clock: @Sendable () -> Moment
    /// Whether the server sends several messages for one request; nil if that was not found out.
    private var hasBatches: Bool?

    init(_ connection: NATSConnection, stream: String, _ clock: @escaping @Sendable () -> Moment) {
        self.connection = connection
        self.clock = clock
        self.stream = stream
    }

    func find(
        _ plan: ReplayPlan, maximumBytes: Int, until end: Int64
    ) throws(RequestError) -> (reply: SamplesReplay.Reply, frames: [[UInt8]]) {
        do throws(NATSError) {
            var collection = ReplayCollection(
                epoch: plan.range.epoch, from: plan.range.from, count: plan.range.count, maximumBytes: maximumBytes)
            if let first = try firstMessage(plan, until: end) {
                collect(first, plan, into: &collection, until: end)
            } else {
                let isMissing = plan.range.from < plan.knownEnd ? true : try isStored(plan, until: end)
                // It is stored, and this replica does not have it, or it was not fetched yet.
                if isMissing { throw NATSError(.timedOut, during: "find samples") }
            }
            let from = collection.first ?? plan.range.from
            return (
                SamplesReplay.Reply(
                    from: from, count: collection.count, first: from, last: max(collection.next, plan.knownEnd) - 1),
                collection.frames
            )
        } catch {
            throw RequestError.laterAgain(Self.silence)
        }
    }

    /// Whether the servers have samples that this program did not publish yet, and that those who ask heard of elsewhere: an empty
    /// answer would have them given up.
    private func isStored(_ plan: ReplayPlan, until end: Int64) throws(NATSError) -> Bool {
        let last = try connection.lastMessage(
            of: plan.subject, in: stream, headers: RelayedMessage.Header.all, limit: milliseconds(until: end))
        guard let place = last.flatMap({ RelayedMessage.place(of: $0.headers) }) else { return false }
        return place.epoch == plan.range.epoch && place.end > plan.range.from
    }

    /// The first message that has what is wanted, or what follows it. A hole is believed when it was met several times.
    private func firstMessage(_ plan: ReplayPlan, until end: Int64) throws(NATSError) -> NATSMessage? {
        var best: NATSMessage?
        for _ in 0..<Self.attempts {
            guard let found = try search(plan, for: plan.range.from, until: end) else {
                if plan.range.from >= plan.knownEnd { return best }
                continue
            }
            if has(found, plan.range.from, of: plan) { return found }
            best = found
            if let overtaken = try overtaken(plan, before: found, until: end) { return overtaken }
        }
        return best
    }

    /// Finds a message that stands before a shorter one with samples of its own: one that was under way when its relay was killed may be
    /// stored behind what the next relay sent, and the search by halves may meet it alone.
    private func overtaken(
        _ plan: ReplayPlan, before hole: NATSMessage, until end: Int64
    ) throws(NATSError) -> NATSMessage? {
        let start = max(0, plan.range.from - Self.overlap)
        guard let first = try search(plan, for: start, until: end) else { return nil }
        var messages = [first]
        while let last = messages.last {
            if let found = messages.first(where: { has($0, plan.range.from, of: plan) }) { return found }
            guard last.sequence < hole.sequence else { return nil }
            messages = try next(after: last.sequence, plan, until: end)
        }
        return nil
    }

    private func has(_ message: NATSMessage, _ sample: Int, of plan: ReplayPlan) -> Bool {
        guard let place = RelayedMessage.place(of: message.headers), place.epoch == plan.range.epoch else {
            return false
        }
        return place.from <= sample && sample < place.end
    }

    private func search(_ plan: ReplayPlan, for sample: Int, until end: Int64) throws(NATSError) -> NATSMessage? {
        var search = MessageSearch(
            epoch: plan.range.epoch, sample: sample,
            in: sample < plan.range.from ? 1...plan.place.upperBound : plan.place)
        var found: NATSMessage?
        while let next = search.next {
            let message = try connection.message(
                of: plan.subject, in: stream, from: next, headers: RelayedMessage.Header.all,
                limit: milliseconds(until: end))
            let mark = message.flatMap { message in
                RelayedMessage.place(of: message.headers).map {
                    ServedStream.Mark(sequence: message.sequence, place: $0)
                }
            }
            search.take(mark)
            if let message, let mark, search.found == mark { found = message }
        }
        return found
    }

    private func collect(
        _ first: NATSMessage, _ plan: ReplayPlan, into collection: inout ReplayCollection, until end: Int64
    ) {
        // Also if the time is over by now: an empty answer says that there is nothing.
        var messages = [first]
        while true {
            for message in messages {
                guard let message = RelayedMessage(message), collection.add(message) else { return }
            }
            // What was found is an answer, whatever keeps the servers from giving more.
            guard let last = messages.last, let following = try? next(after: last.sequence, plan, until: end) else {
                return
            }
            messages = following
        }
    }

    /// How long a request to the servers may take.
    /// - Throws: `timedOut` if the time is over.
    private func milliseconds(until end: Int64) throws(NATSError) -> Int64 {
        let left = (end - clock().monotonic) / 1_000_000
        guard left > 0 else { throw NATSError(.timedOut, during: "find samples") }
        return left
    }

    private func next(
        after sequence: UInt64, _ plan: ReplayPlan, until end: Int64
    ) throws(NATSError) -> [NATSMessage] {
        let limit = try milliseconds(until: end)
        if hasBatches == nil { hasBatches = try connection.serverVersion(leading: stream, limit: limit).sendsBatches }
        if hasBatches == true {
            return try connection.messages(
                of: plan.subject, in: stream, from: sequence + 1, count: Self.batch, maximumBytes: 1 << 20,
                headers: RelayedMessage.Header.all, limit: limit)
        }
        let message = try connection.message(
            of: plan.subject, in: stream, from: sequence + 1, headers: RelayedMessage.Header.all, limit: limit)
        return message.map { [$0] } ?? []
    }
}
