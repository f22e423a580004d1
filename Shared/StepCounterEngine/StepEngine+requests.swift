import FoundationEssentials
import Messages
import Runtime
import StepCounterCore
import StepStorage
import ZeroMQ

extension StepEngine {
    /// Whether steps of a device, or of any, are counted at present.
    func isAvailable(_ request: StepsIsAvailable) -> StepsIsAvailable.Reply {
        StepsIsAvailable.Reply(available: core.isAvailable(request.device, at: now))
    }

    /// Begins a subscription: it is durable when this returns, unless the history cannot be written.
    func startUpdates(_ request: StepsStartUpdates) async throws -> StepsStartUpdates.Reply {
        let subscription = try core.start(request, id: UUID().uuidString, at: now)
        try await commit()
        return StepsStartUpdates.Reply(
            subscription: subscription.id, topic: TopicArea.steps + subscription.device,
            startDate: subscription.startDate, numberOfSteps: subscription.numberOfSteps,
            isKnown: core.isKnown(subscription.device))
    }

    func subscriptions(_ request: StepsSubscriptions) -> StepsSubscriptions.Reply {
        StepsSubscriptions.Reply(subscriptions: core.list(request.device))
    }

    func stopUpdates(_ request: StepsStopUpdates) async throws -> StepsStopUpdates.Reply {
        let steps = try core.stop(request.subscription)
        try await commit()
        return StepsStopUpdates.Reply(numberOfSteps: steps)
    }

    /// Queries the history, after committing everything found so far.
    func query(_ request: StepsQuery) async throws -> StepsQuery.Reply {
        try await commit(of: request.device)
        let date = core.historyDate(at: now)
        let settings = core.settings.detector(of: request.device)
        var reply = try await reader.run { try $0.answer(request, at: date, countedWith: settings) }
        if core.isKnown(request.device) { reply.isKnown = true }
        return reply
    }

    /// Returns when everything found so far is in the history, or could not be written.
    private func commit(of device: String? = nil) async throws {
        let commit = core.commitNow(of: device, at: now)
        perform()
        try await wait { [core] in core.isCommitted(commit) }
    }
}
