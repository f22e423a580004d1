import Messages
import ServiceKit
import StepCounterCore

/// Effects that take time, in a queue for each task that carries them out.
struct EffectQueues: Sendable {
    let history = EffectQueue<StepCounting.Effect>()
    let subscriptions = EffectQueue<StepCounting.Effect>()
    let recoveries = EffectQueue<StreamName>()
}
