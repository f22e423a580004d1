import DequeModule
import ZeroMQ

/// Effects of one kind that wait to be carried out. Belongs to the engine's thread.
///
/// It has no bound of its own: a core emits the next effect of a kind only after the result of the last one, or one for each
/// stream.
final class EffectQueue<Effect> {
    private let order: EffectOrder
    private var effects: Deque<Effect> = []
    /// The number of effects added since `takeAdded`.
    private var addedCount = 0
    /// Told that there is an effect to carry out.
    let added = Wake<Void>()

    init(_ order: EffectOrder) { self.order = order }

    func add(_ effect: Effect) {
        if order == .newestOnly { effects.removeAll(keepingCapacity: true) }
        effects.append(effect)
        addedCount += 1
        added.tell(())
    }

    func takeAdded() -> Int {
        defer { addedCount = 0 }
        return addedCount
    }

    func next() -> Effect? { effects.popFirst() }
}
