import Logging
import MessageBus
import Messages
import ServiceKit
import StepCounterCore
import StepStorage
import ZeroMQ

/// Carries out the effects of `StepCounting`. Work that takes time goes into a queue for its kind, and each queue has one task.
extension StepEngine {
    /// Carries out the effects. Call it after every call of the core that changes something.
    func perform() {
        for effect in core.takeEffects() { perform(effect) }
        resumeWaits()
    }

    private func perform(_ effect: StepCounting.Effect) {
        switch effect {
        case .commit, .remove: queues.history.add(effect)
        case .subscribe: queues.subscriptions.add(effect)
        case .recover(let stream): queues.recoveries.add(stream)
        case .publish(let event): publish(event)
        case .log(let level, let message, let metadata): logger.log(level: level, message, metadata: metadata)
        case .warn(let sentence, let key): health.set(warning: sentence, for: key)
        case .failing(let sentence, let key): health.report(.failing, sentence, for: key)
        case .wrongClock(let device, let seconds):
            health.reportClock(of: device, ahead: seconds, ": its steps have its dates; set the clock")
        case .lost: loss.raise()
        }
    }

    /// Publishes an event. One that can't be sent is logged.
    private func publish(_ event: StepEvent) {
        do {
            try events.publish(event)
        } catch {
            logger.warning("event not published", metadata: [LogKey.error: "\(error)"])
        }
    }

    func carryOutHistory() async throws {
        try await queues.history.forEach { [self] effect in
            switch effect {
            case .commit(let commit, let date):
                core.committed(await history.attempt { try $0.commit(commit, at: date) }, at: .now)
            case .remove(let removal):
                core.removed(await history.attempt { try $0.remove(removal) }, at: .now)
            default: return
            }
            perform()
        }
    }

    func carryOutSubscriptions() async throws {
        try await queues.subscriptions.forEach { [self] effect in
            guard case .subscribe(let topic) = effect else { return }
            do {
                try await listener.subscribe(to: topic)
            } catch {
                logger.error("not subscribed", metadata: ["topic": "\(topic)", LogKey.error: "\(error)"])
            }
        }
    }

    /// Has missing samples replayed, of all streams at the same time.
    func carryOutRecoveries() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await queues.recoveries.forEach { [self] stream in
                group.addTask {
                    try await self.publishers.recover(
                        CountedStream(engine: self, name: stream), limit: self.settings.recoveryLimit.duration)
                }
            }
        }
    }
}
