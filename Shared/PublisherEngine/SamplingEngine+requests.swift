import Messages
import PublisherCore
import Runtime
import ServiceKit
import ZeroMQ

/// What a client pushed, until it is answered.
struct PendingPush: Sendable {
    let request: Int
    let answer = Wake<PushAnswer>()
}

/// Passes on what is asked.
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

    /// Takes what a client pushed, and returns when it is published and kept, or refused.
    func push(_ message: PushMessage) async -> PushAnswer {
        begin()
        let push = beginPush(message)
        perform()
        return await answer(to: push)
    }

    /// Hands what a client pushed to the core. Its answer is to be waited for.
    func beginPush(_ message: PushMessage) -> PendingPush {
        questionsAsked += 1
        let push = PendingPush(request: questionsAsked)
        pushes[push.request] = push.answer
        core.push(message, as: push.request, at: now)
        return push
    }

    /// Returns when what was pushed is published and kept, or refused.
    func answer(to push: PendingPush) async -> PushAnswer {
        defer { pushes[push.request] = nil }
        return await push.answer.next(on: thread)
            ?? .refused(PushRefusal(.stopping, "the program is stopping: send this again in a few seconds"))
    }

    /// What is kept of the samples that are asked for. Call `endReplay` when the reply is made.
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
