import FoundationEssentials
import Messages
import ServiceKit
import ZeroMQ

/// What is asked.
extension StepEngine {
    /// Whether steps of a device, or of any, are counted at present.
    func isAvailable(_ request: StepsIsAvailable) -> StepsIsAvailable.Reply {
        let now = MonotonicClock.now
        return StepsIsAvailable.Reply(
            available: counters.values.contains { counter in
                (request.device.map { $0 == counter.name.device } ?? true)
                    && now - counter.heard < Self.descriptionLife.nanoseconds
            })
    }

    /// Begins a subscription: it is durable when this returns, unless the history can't be written.
    func startUpdates(_ request: StepsStartUpdates) async throws -> StepsStartUpdates.Reply {
        guard !isStopping else { throw RequestError(.stopping, "step-counter is stopping: ask again when it is back") }
        let subscription = try subscriptions.start(
            request, id: UUID().uuidString, startDate: .now, instant: MonotonicClock.now)
        pending.note(subscription)
        try await awaitCommit()
        return StepsStartUpdates.Reply(
            subscription: subscription.id, topic: TopicArea.steps + subscription.device,
            startDate: subscription.startDate)
    }

    /// Ends a subscription.
    func stopUpdates(_ request: StepsStopUpdates) async throws -> StepsStopUpdates.Reply {
        guard let subscription = subscriptions.stop(request.subscription) else {
            return StepsStopUpdates.Reply(numberOfSteps: 0)
        }
        pending.noteStop(of: subscription.id)
        try await awaitCommit()
        return StepsStopUpdates.Reply(numberOfSteps: subscription.numberOfSteps)
    }

    /// Asks the history, with everything in it that was found so far.
    func query(_ request: StepsQuery) async throws -> StepsQuery.Reply {
        try await awaitCommit()
        return try await reader.answer(request)
    }
}
