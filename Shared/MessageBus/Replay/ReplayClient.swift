import Messages
import Synchronization
import ZeroMQ

/// Requests missing samples from publishers: one connection for each publisher, with several pending requests.
///
/// Streams suspend here until `ReplaySchedule` has decided about their samples. Each publisher has a task that carries out the
/// decisions; it begins with the first stream that misses samples of that publisher, and ends with the last.
final class ReplayClient: Sendable {
    private struct Connection {
        let dealer: Dealer
        let task: Task<Void, Never>
    }

    private enum Reply: Sendable {
        case answer(SamplesReplay.Reply, ArraySlice<[UInt8]>)
        case gone(Gap.Reason)
        case again(isPutOff: Bool)
    }

    private struct State {
        var schedule: ReplaySchedule
        var asking: [Int: CheckedContinuation<Reply, any Error>] = [:]
        var recovering: [Int: any RecoveringStream] = [:]
        var connections: [String: Connection] = [:]
        var lastStream = 0
    }

    private let state: Mutex<State>
    private let context: Context
    private let thread: SocketThread
    private let options: @Sendable (_ endpoint: String) throws(ZeroMQError) -> SocketOptions
    private let routes: SharedRoutes

    init(
        context: Context, thread: SocketThread, routes: SharedRoutes, patience: Int64,
        options: @escaping @Sendable (_ endpoint: String) throws(ZeroMQError) -> SocketOptions
    ) {
        self.context = context
        self.thread = thread
        self.routes = routes
        state = Mutex(State(schedule: ReplaySchedule(seed: UInt64(MonotonicClock.now), patience: patience)))
        self.options = options
    }

    // MARK: Streams

    func recover(_ stream: some RecoveringStream, limit: Duration) async throws {
        let number = state.withLock { state in
            state.lastStream += 1
            state.recovering[state.lastStream] = stream
            return state.lastStream
        }
        defer {
            change { state in
                state.recovering[number] = nil
                state.schedule.leave(number)
            }
        }
        var isUnanswered = false
        var mayMissMore = true
        while mayMissMore, let missing = try await stream.missing() {
            // It matters since when the publisher is heard only after a request without an answer.
            let heardSince = isUnanswered ? await stream.heardSince() : .min
            let reply = try await ask(number, missing, heardSince: heardSince, limit: limit.inNanoseconds)
            isUnanswered = false
            switch reply {
            case .answer(let reply, let frames):
                mayMissMore = await stream.take(reply, frames, for: missing.request)
            case .gone(let reason): mayMissMore = await stream.giveUp(missing.request, reason: reason)
            case .again(let isPutOff):
                isUnanswered = true
                if isPutOff { await stream.putOff() }
            }
            change { $0.schedule.finish(number) }
        }
    }

    private func ask(
        _ number: Int, _ missing: MissingSamples, heardSince: Int64?, limit: Int64
    ) async throws -> Reply {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let reason = change { state -> Gap.Reason? in
                    let reason = state.schedule.ask(
                        number, for: missing.request, at: missing.endpoint, heardSince: heardSince, limit: limit,
                        now: MonotonicClock.now)
                    if reason == nil { state.asking[number] = continuation }
                    connect(missing.endpoint, in: &state)
                    return reason
                }
                if let reason { continuation.resume(returning: .gone(reason)) }
                // The cancellation handler may have run before the continuation existed.
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func cancel(_ number: Int) {
        state.withLock { $0.asking.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }

    /// Changes the schedule, ends the tasks of publishers with nothing left to replay, and wakes the publisher whose turn has
    /// come.
    @discardableResult
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            let result = body(&state)
            for (publisher, connection) in state.connections where !state.schedule.isWanted(publisher) {
                state.connections[publisher] = nil
                connection.task.cancel()
            }
            if let next = state.schedule.nextInTurn { state.connections[next]?.dealer.interrupt() }
            return result
        }
    }

    /// Starts a publisher's task, or wakes it.
    private func connect(_ publisher: String, in state: inout State) {
        if let connection = state.connections[publisher] {
            if state.schedule.wakes(publisher) { connection.dealer.interrupt() }
            return
        }
        guard state.schedule.isWanted(publisher) else { return }
        let dealer = Dealer(context: context, thread: thread)
        // The task ends with the last stream that misses samples of the publisher; that stream's own task awaits the replies.
        state.connections[publisher] = Connection(dealer: dealer, task: Task { await drive(publisher, over: dealer) })
    }

    // MARK: Publishers

    /// Carries out the schedule's decisions for a publisher, until the task is cancelled.
    private func drive(_ publisher: String, over dealer: Dealer) async {
        var link = Link(publisher)
        while !Task.isCancelled {
            await leave(&link, dealer)
            let endpoint = link.endpoint ?? routes.endpoint(for: publisher)
            let (step, arriving) = change { state -> (ReplaySchedule.Step, [any RecoveringStream]) in
                let now = MonotonicClock.now
                let step = state.schedule.step(
                    of: publisher, at: endpoint, received: link.received, isBroken: link.isBroken, now: now)
                return (step, state.schedule.arriving(of: publisher, now: now).compactMap { state.recovering[$0] })
            }
            for stream in arriving { await stream.noteArrival() }
            do {
                switch step {
                case .send(let request):
                    try await connect(&link, to: endpoint, dealer)
                    let envelope = RequestEnvelope(id: .integer(request.number), params: request.params)
                    guard try await dealer.send(WireCoding.encode(envelope)) else {
                        throw ZeroMQError(.wouldBlock, during: "request to \(endpoint)")
                    }
                case .wait(let until):
                    let arrival = try await dealer.next(deadline: until)
                    link.received = arrival.received
                    link.isBroken = arrival.isBroken
                    if let frames = arrival.reply { take(frames, from: link, at: endpoint) }
                case .askAgain(let streams):
                    askAgain(streams)
                case .reconnect(let streams):
                    await reconnect(&link, at: endpoint, dealer)
                    askAgain(streams)
                }
            } catch is CancellationError {
                return
            } catch let error as ZeroMQError where error.isShortage {
                // The publisher was not asked, so it is not silent.
                await disconnect(&link, dealer)
                let streams = change { $0.schedule.fail(publisher, at: nil, now: MonotonicClock.now) }
                askAgain(streams, isPutOff: true)
            } catch {
                await reconnect(&link, at: endpoint, dealer)
                askAgain(change { $0.schedule.fail(publisher, at: endpoint, now: MonotonicClock.now) })
            }
        }
    }

    /// The state of a publisher's connection, in its task.
    private struct Link {
        let publisher: String
        /// The endpoint it is connected to; nil while disconnected.
        var endpoint: String?
        var received = 0
        var isBroken = false
        var resolvers: [String: EndpointResolver] = [:]

        init(_ publisher: String) { self.publisher = publisher }
    }

    private func connect(_ link: inout Link, to endpoint: String, _ dealer: Dealer) async throws {
        guard link.endpoint == nil else { return }
        let resolver = link.resolvers[endpoint] ?? EndpointResolver(endpoint)
        link.resolvers[endpoint] = resolver
        let options = try options(endpoint)
        let place = try await resolver.place(deadline: MonotonicClock.now + ReplaySchedule.patience)
        try await dealer.connect(to: place, options: options)
        link.endpoint = endpoint
    }

    /// Closes a connection that has ended, or whose endpoint is no longer the right one, once it has no pending requests.
    private func leave(_ link: inout Link, _ dealer: Dealer) async {
        guard let endpoint = link.endpoint, link.isBroken || routes.endpoint(for: link.publisher) != endpoint,
            state.withLock({ $0.schedule.unanswered(of: link.publisher) }).isEmpty
        else { return }
        await disconnect(&link, dealer)
    }

    private func disconnect(_ link: inout Link, _ dealer: Dealer) async {
        await dealer.disconnect()
        link.endpoint = nil
        link.received = 0
        link.isBroken = false
    }

    private func reconnect(_ link: inout Link, at endpoint: String, _ dealer: Dealer) async {
        await disconnect(&link, dealer)
        link.resolvers[endpoint]?.noteSilence()
        _ = routes.noteSilence(of: link.publisher, at: endpoint)
    }

    private func askAgain(_ streams: [Int], isPutOff: Bool = false) {
        let asking = state.withLock { state in streams.compactMap { state.asking.removeValue(forKey: $0) } }
        for continuation in asking { continuation.resume(returning: .again(isPutOff: isPutOff)) }
    }

    private func take(_ frames: [[UInt8]], from link: Link, at endpoint: String) {
        let (number, answer) = Self.answer(frames)
        let places = routes.places(of: link.publisher)
        let replies = change { state in
            // A reply without a request's number may be meant for any of them.
            let numbers = number.map { [$0] } ?? state.schedule.unanswered(of: link.publisher)
            let verdicts = numbers.flatMap { number in
                state.schedule.take(
                    answer, to: number, of: link.publisher, at: endpoint, places: places, now: MonotonicClock.now)
            }
            return verdicts.compactMap { verdict in
                state.asking.removeValue(forKey: verdict.stream).map { ($0, verdict.outcome) }
            }
        }
        for (continuation, outcome) in replies {
            switch outcome {
            case .answer(let reply, let range):
                let frames = frames[range.lowerBound + 1..<range.upperBound + 1]
                continuation.resume(returning: .answer(reply, frames))
            case .gone(let reason): continuation.resume(returning: .gone(reason))
            case .again: continuation.resume(returning: .again(isPutOff: false))
            case .later: continuation.resume(returning: .again(isPutOff: true))
            }
        }
        // Another program may have refused: before the refusal counts, the publisher's other endpoint is asked too.
        if answer.isRefusal { _ = routes.noteSilence(of: link.publisher, at: endpoint) }
    }

    /// The request's number, nil if unreadable, and the contents of a reply.
    private static func answer(_ frames: [[UInt8]]) -> (number: Int?, answer: ReplaySchedule.Answer) {
        let head = frames.first ?? []
        if let reply = try? WireCoding.decode(ReplyEnvelope<SamplesReplay.Reply>.self, from: head),
            case .integer(let number) = reply.id
        {
            if let error = reply.error { return (number, .refusal(error)) }
            if let result = reply.result { return (number, .reply(result, frameCount: frames.count - 1)) }
        }
        if let reply = try? WireCoding.decode(ReplyEnvelope<JSONValue>.self, from: head),
            case .integer(let number) = reply.id
        {
            return (number, .unreadable)
        }
        return (nil, .unreadable)
    }
}
