import Messages
import PublisherCore
import Runtime
import ServiceKit
import ZeroMQ

/// A push that is not answered yet.
struct PendingPush: Sendable {
    let request: Int
    let answer = Wake<PushAnswer>()
}

/// Passes requests to the core.
extension SamplingEngine {
    func list(_ request: StreamsList) async throws -> StreamsList.Reply {
        guard case .streams(let streams) = try await answer({ core.list(request, as: $0, at: $1) }) else {
            throw CancellationError()
        }
        return StreamsList.Reply(streams: streams)
    }

    func start(_ request: StreamsStart) async throws -> StreamDescription {
        try await described { core.start(request, as: $0, at: $1) }
    }

    func stop(_ request: StreamsStop) async throws -> StreamDescription {
        try await described { core.stop(request, as: $0, at: $1) }
    }

    private func described(_ ask: (Int, Moment) -> Void) async throws -> StreamDescription {
        guard case .stream(let description) = try await answer(ask) else { throw CancellationError() }
        return description
    }

    private func answer(_ ask: (_ request: Int, _ now: Moment) -> Void) async throws -> Publication.Answer {
        begin()
        questionsAsked += 1
        let request = questionsAsked
        let answer = Wake<Result<Publication.Answer, RequestError>>()
        questions[request] = answer
        defer { questions[request] = nil }
        ask(request, now)
        perform()
        if let answer = await answer.next(on: thread) { return try answer.get() }
        core.forget(request)
        throw CancellationError()
    }

    /// Takes a pushed message, and returns when its samples are published and kept, or refused.
    func push(_ message: PushMessage) async -> PushAnswer {
        begin()
        let push = beginPush(message)
        perform()
        return await answer(to: push)
    }

    /// Hands a pushed message to the core. The caller must wait for its answer.
    func beginPush(_ message: PushMessage) -> PendingPush {
        questionsAsked += 1
        let push = PendingPush(request: questionsAsked)
        pushes[push.request] = push.answer
        core.push(message, as: push.request, at: now)
        return push
    }

    /// Waits until the samples of a push are published and kept, or refused.
    func answer(to push: PendingPush) async -> PushAnswer {
        defer { pushes[push.request] = nil }
        return await push.answer.next(on: thread)
            ?? .refused(PushRefusal(.stopping, "the program is stopping: send this again in a few seconds"))
    }

    /// The retained samples for a request. Call `endReplay` when the reply is made.
    func replay(_ request: SamplesReplay) async throws(RequestError) -> Publication.Replay {
        begin()
        var replay = try core.beginReplay(request)
        while !replay.isComplete {
            core.findNext(of: &replay, at: runtime.now)
            if !replay.isComplete { await Task.yield() }
        }
        return replay
    }

    func endReplay() { core.endReplay() }
}
