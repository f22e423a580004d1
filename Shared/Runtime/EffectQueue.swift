import DequeModule

/// Effects of one kind that wait until they are carried out. Belongs to the engine's thread.
///
/// Has no bound of its own: a core emits the next effect of a kind when it was told the result of the last one, or one for each
/// stream.
final class EffectQueue<Effect> {
    private let order: EffectOrder
    private var effects: Deque<Effect> = []
    /// How many were added since `takeAdded`.
    private var addedCount = 0
    /// Says that there is something to do. Raised twice before the queue is looked at, it is once.
    let added: AsyncStream<Void>
    private let addedContinuation: AsyncStream<Void>.Continuation

    init(_ order: EffectOrder) {
        self.order = order
        (added, addedContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func add(_ effect: Effect) {
        if order == .newestOnly { effects.removeAll(keepingCapacity: true) }
        effects.append(effect)
        addedCount += 1
        addedContinuation.yield()
    }

    func takeAdded() -> Int {
        defer { addedCount = 0 }
        return addedCount
    }

    func next() -> Effect? { effects.popFirst() }
}
