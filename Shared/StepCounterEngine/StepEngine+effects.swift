import Logging
import MessageBus
import Messages
import Runtime
import ServiceKit
import StepCounterCore
import StepStorage

/// Carries out the effects of `StepCounting`.
extension StepEngine {
    enum Queue: Int, EffectQueueName {
        case history, subscriptions, recoveries

        /// Missing samples of all streams are replayed concurrently.
        var order: EffectOrder { self == .recoveries ? .atOnce : .inTurn }
    }

    static func queue(of effect: StepCounting.Effect) -> Queue? {
        switch effect {
        case .commit, .remove: .history
        case .subscribe: .subscriptions
        case .recover: .recoveries
        case .notice: nil
        }
    }

    func carryOutQueued(_ effect: StepCounting.Effect) async throws {
        switch effect {
        case .commit(let commit, let date):
            core.committed(await history.attempt { try $0.commit(commit, at: date) }, at: now)
        case .remove(let removal): core.removed(await history.attempt { try $0.remove(removal) }, at: now)
        case .subscribe(let topic):
            do {
                try await listener.subscribe(to: topic)
            } catch {
                runtime.logger.error("not subscribed", metadata: ["topic": "\(topic)", LogKey.error: "\(error)"])
            }
        case .recover(let stream):
            try await publishers.recover(
                EngineStream(stream, of: self), limit: settings.recoveryLimit.duration)
        case .notice: return
        }
    }

    func carryOut(_ effect: StepCounting.Effect) {
        if case .notice(let notice) = effect { runtime.tell(notice) }
    }
}
