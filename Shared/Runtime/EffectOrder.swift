/// How the effects of a queue are carried out.
package enum EffectOrder: Sendable {
    /// One after the other.
    case inTurn
    /// Each in a task of its own. The core bounds how many there are.
    case atOnce
    /// One after the other, and the last of those that wait alone: for effects that repeat what they say.
    case newestOnly
}

/// Names the queues of an engine. Effects that take time go into a queue for their kind.
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
