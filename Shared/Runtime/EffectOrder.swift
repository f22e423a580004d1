/// The order in which a queue's effects are carried out.
package enum EffectOrder: Sendable {
    /// One after the other.
    case inTurn
    /// Each in a task of its own. The core bounds their number.
    case atOnce
    /// One after the other, and of the waiting ones only the last: for effects that replace earlier ones.
    case newestOnly
}

/// The names of an engine's queues. Effects that take time go into a queue for their kind.
package protocol EffectQueueName: RawRepresentable<Int>, CaseIterable, Sendable {
    var order: EffectOrder { get }
}

extension EffectQueueName {
    package var order: EffectOrder { .inTurn }
}

/// For engines that carry out every effect at once.
package enum NoQueue: Int, EffectQueueName {
    case none
}
