/// Effects of a core that one task carries out, one after the other, on the engine's thread or beside it.
///
/// Has no bound of its own: a core emits the next effect of a kind when it was told the result of the last one, or one for each
/// stream. With `keepingNewest`, it holds the last effect alone: for those that repeat what they say.
package struct EffectQueue<Effect: Sendable>: Sendable {
    private enum Item: Sendable {
        case effect(Effect)
        /// Everything before it was carried out.
        case mark(AsyncStream<Void>.Continuation)
    }

    private let items: AsyncStream<Item>
    private let continuation: AsyncStream<Item>.Continuation

    package init(keepingNewest: Bool = false) {
        (items, continuation) = AsyncStream.makeStream(
            bufferingPolicy: keepingNewest ? .bufferingNewest(1) : .unbounded)
    }

    package func add(_ effect: Effect) { continuation.yield(.effect(effect)) }

    /// Hands over each effect in turn, until the task is cancelled.
    package func forEach(
        isolation: isolated (any Actor)? = #isolation, _ body: (Effect) async throws -> Void
    ) async throws {
        for await item in items {
            switch item {
            case .effect(let effect): try await body(effect)
            case .mark(let waiting): waiting.finish()
            }
        }
        throw CancellationError()
    }

    /// Returns when all effects so far were carried out, or the task that does that has ended, or this one is cancelled.
    package func drain() async {
        let (drained, waiting) = AsyncStream.makeStream(of: Void.self)
        if case .terminated = continuation.yield(.mark(waiting)) { return }
        for await _ in drained {}
    }
}
