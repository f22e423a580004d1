import Messages
import NATS
import RelayCore
import Runtime
import Synchronization
import ZeroMQ

/// Answers requests for samples from a NATS stream. Several run concurrently, because each waits for servers.
struct Retrievers: Sendable {
    /// The approximate maximum size of a reply, in bytes. Clients request the rest again.
    private static let maximumReplyBytes = 4_000_000
    private static let maximumRanges = 1_000
    /// How long a reply may take, in nanoseconds. Clients request samples again that were not found by then. Shorter than a
    /// recorder's timeout of 2 s; recorders give samples up after 10 s without any reply.
    private static let limit: Int64 = 1_000_000_000
    private static let threadCount = 4
    private static let maximumUnderWay = 16

    private final class State: Sendable {
        let underWay = Mutex((count: 0, next: 0))
    }

    private let link: ServerLink
    private let threads: [OwnThread<Retriever>]
    private let state = State()
    private let clock: @Sendable () -> Moment

    init(
        _ connection: NATSConnection, _ link: ServerLink, stream: String, clock: @escaping @Sendable () -> Moment
    ) throws(ZeroMQError) {
        self.link = link
        self.clock = clock
        let unfinished = UnfinishedSearches()
        var threads: [OwnThread<Retriever>] = []
        for index in 0..<Self.threadCount {
            let retriever = Retriever(connection, stream: stream, unfinished, clock)
            threads.append(try OwnThread(name: "replays \(index)", retriever))
        }
        self.threads = threads
    }

    /// - Parameter plans: for each range where to search for its samples, or an error.
    func answer(
        _ request: SamplesReplay, _ plans: [Result<ReplayPlan, RequestError>]
    ) async throws(RequestError) -> (reply: SamplesReplay.Reply, frames: [[UInt8]], samples: Int) {
        guard plans.count <= Self.maximumRanges else {
            throw RequestError(
                .invalidParameter,
                "\(plans.count) ranges are too many for a request: give at most \(Self.maximumRanges)")
        }
        // Without a connection, calls of the library may block for seconds.
        guard link.isConnected else { throw .laterAgain("the NATS servers are not reachable") }
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

    /// - Returns: the index of the thread to use; nil if too many requests are pending.
    private func begin() -> Int? {
        state.underWay.withLock { underWay in
            guard underWay.count < Self.maximumUnderWay else { return nil }
            underWay.count += 1
            underWay.next = (underWay.next + 1) % Self.threadCount
            return underWay.next
        }
    }
}

/// Searches that ran out of time. A repeated request continues its search, because with distant servers a search may take longer
/// than a reply may.
private final class UnfinishedSearches: Sendable {
    /// At this number all searches are dropped, because some may never be continued. Each can hold two messages of up to 256 kB.
    private static let maximumCount = 256

    private let searches = Mutex<[SamplesReplay.Range: SampleSearch<NATSMessage>]>([:])

    func take(_ range: SamplesReplay.Range) -> SampleSearch<NATSMessage>? {
        searches.withLock { $0.removeValue(forKey: range) }
    }

    func keep(_ search: SampleSearch<NATSMessage>, for range: SamplesReplay.Range) {
        searches.withLock { searches in
            if searches.count == Self.maximumCount { searches = [:] }
            searches[range] = search
        }
    }
}

/// Finds samples in a NATS stream. Confined to one thread.
private final class Retriever {
    /// The maximum number of messages per request.
    private static let batch = 256

    private let connection: NATSConnection
    private let stream: String
    private let unfinished: UnfinishedSearches
    private let clock: @Sendable () -> Moment
    /// Whether the server sends several messages for one request; nil if unknown.
    private var hasBatches: Bool?

    init(
        _ connection: NATSConnection, stream: String, _ unfinished: UnfinishedSearches,
        _ clock: @escaping @Sendable () -> Moment
    ) {
        self.connection = connection
        self.unfinished = unfinished
        self.clock = clock
        self.stream = stream
    }

    func find(
        _ plan: ReplayPlan, maximumBytes: Int, until end: Int64
    ) throws(RequestError) -> (reply: SamplesReplay.Reply, frames: [[UInt8]]) {
        var collection = ReplayCollection(
            epoch: plan.range.epoch, from: plan.range.from, count: plan.range.count, maximumBytes: maximumBytes)
        let outcome: SampleSearch<NATSMessage>.Outcome
        do {
            outcome = try search(plan, until: end)
        } catch {
            throw .laterAgain("the servers did not answer in time")
        }
        switch outcome {
        case .found(let message), .hole(before: let message):
            collect(message.content, plan, into: &collection, until: end)
        case .nothing: break
        case .unclear: throw .laterAgain("a server lacks the samples")
        case .unknownEpoch:
            throw RequestError(.unknownEpoch, "the servers have nothing of epoch '\(plan.range.epoch.prefix(64))'")
        }
        let from = collection.first ?? plan.range.from
        return (
            SamplesReplay.Reply(
                from: from, count: collection.count, first: from, last: max(collection.next, plan.knownEnd) - 1),
            collection.frames
        )
    }

    /// Whether the servers have the requested samples although this program has not published them yet. The client may know of
    /// them from another source, and an empty reply would make it give them up.
    private func isStored(_ plan: ReplayPlan, until end: Int64) throws(NATSError) -> Bool {
        let last = try connection.lastMessage(
            of: plan.subject, in: stream, headers: RelayedMessage.Header.all, limit: milliseconds(until: end))
        guard let place = last.flatMap({ RelayedMessage.place(of: $0.headers) }) else { return false }
        return place.epoch == plan.range.epoch && place.end > plan.range.from
    }

    /// Searches for the message with the first requested sample, or the message after it if there is a hole.
    private func search(_ plan: ReplayPlan, until end: Int64) throws(NATSError) -> SampleSearch<NATSMessage>.Outcome {
        var search = unfinished.take(plan.range) ?? SampleSearch<NATSMessage>(plan)
        defer { if search.outcome == nil { unfinished.keep(search, for: plan.range) } }
        while let question = search.next {
            switch question {
            case .last:
                let last = try connection.lastMessage(
                    of: plan.subject, in: stream, headers: RelayedMessage.Header.all, limit: milliseconds(until: end))
                let first = try last == nil ? connection.streamState(stream, limit: milliseconds(until: end)).first : 0
                search.take(last?.located.map { [$0] } ?? [], first: first)
            case .message(let sequence, let isAtLeader):
                let found = try located(from: sequence) { next throws(NATSError) in
                    try message(from: next, plan, atLeader: isAtLeader, until: end).map { [$0] } ?? []
                }
                search.take(found)
            case .messages(let sequence):
                let found = try located(from: sequence) { next throws(NATSError) in
                    try messages(from: next, plan, until: end)
                }
                search.take(found)
            }
        }
        if case .nothing = search.outcome, try isStored(plan, until: end) { return .unclear }
        return search.outcome ?? .unclear
    }

    private func message(
        from sequence: UInt64, _ plan: ReplayPlan, atLeader isAtLeader: Bool, until end: Int64
    ) throws(NATSError) -> NATSMessage? {
        if !isAtLeader {
            do throws(NATSError) {
                return try connection.message(
                    of: plan.subject, in: stream, from: sequence, headers: RelayedMessage.Header.all,
                    limit: milliseconds(until: end))
            } catch {
                // Without `allow_direct` only the leader replies.
                guard error.isUnavailable else { throw error }
            }
        }
        let place = try connection.sequenceAtLeader(
            of: plan.subject, in: stream, from: sequence, limit: milliseconds(until: end))
        guard let place else { return nil }
        return try connection.message(
            at: place, in: stream, headers: RelayedMessage.Header.all, limit: milliseconds(until: end))
    }

    /// Messages from a number on. Skips messages of other programs that have no sample range in their headers.
    private func located(
        from sequence: UInt64, _ get: (UInt64) throws(NATSError) -> [NATSMessage]
    ) throws(NATSError) -> [SampleSearch<NATSMessage>.Message] {
        var next = sequence
        while true {
            let messages = try get(next)
            guard let last = messages.last else { return [] }
            let located = messages.compactMap(\.located)
            if !located.isEmpty { return located }
            next = last.sequence + 1
        }
    }

    private func collect(
        _ first: NATSMessage, _ plan: ReplayPlan, into collection: inout ReplayCollection, until end: Int64
    ) {
        // Returned even if time has run out: an empty reply would mean that no samples exist.
        var messages = [first]
        while true {
            for message in messages {
                guard let message = RelayedMessage(message), collection.add(message) else { return }
            }
            // The messages found so far are a valid reply, even if the servers fail to send more.
            guard let last = messages.last,
                let following = try? self.messages(from: last.sequence + 1, plan, until: end)
            else {
                return
            }
            messages = following
        }
    }

    /// The time left for a request to the servers.
    /// - Throws: `timedOut` if no time is left.
    private func milliseconds(until end: Int64) throws(NATSError) -> Int64 {
        let left = (end - clock().monotonic) / 1_000_000
        guard left > 0 else { throw NATSError(.timedOut, during: "find samples") }
        return left
    }

    private func messages(
        from sequence: UInt64, _ plan: ReplayPlan, until end: Int64
    ) throws(NATSError) -> [NATSMessage] {
        if hasBatches == nil {
            hasBatches = try connection.serverVersion(leading: stream, limit: milliseconds(until: end)).sendsBatches
        }
        if hasBatches == true {
            do throws(NATSError) {
                return try connection.messages(
                    of: plan.subject, in: stream, from: sequence, count: Self.batch, maximumBytes: 1 << 20,
                    headers: RelayedMessage.Header.all, limit: milliseconds(until: end))
            } catch {
                // Without `allow_direct` only the leader replies.
                guard error.isUnavailable else { throw error }
                return try message(from: sequence, plan, atLeader: true, until: end).map { [$0] } ?? []
            }
        }
        return try message(from: sequence, plan, atLeader: false, until: end).map { [$0] } ?? []
    }
}

extension NATSMessage {
    /// The message with its mark; nil if its headers have no sample range.
    fileprivate var located: SampleSearch<NATSMessage>.Message? {
        RelayedMessage.place(of: headers).map { (ServedStream.Mark(sequence: sequence, place: $0), self) }
    }
}
