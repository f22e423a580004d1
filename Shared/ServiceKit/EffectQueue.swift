/// Effects of a core that one task carries out, one after the other, on the engine's thread or beside it.
///
/// Has no bound of its own: a core emits the next effect of a kind when it was told the result of the last one, or one for each
/// stream. With `keepingNewest`, it holds the last effect alone: for those that repeat what they say.
package struct EffectQueue<Effect: Sendable>: Sendable {
    private let effects: AsyncStream<Effect>
    private let continuation: AsyncStream<Effect>.Continuation

    package init(keepingNewest: Bool = false) {
        (effects, continuation) = AsyncStream.makeStream(
            bufferingPolicy: keepingNewest ? .bufferingNewest(1) : .unbounded)
    }

    package func add(_ effect: Effect) { continuation.yield(effect) }

    /// Hands over each effect in turn, until the task is cancelled.
    package func forEach(
        isolation: isolated (any Actor)? = #isolation, _ body: (Effect) async throws -> Void
    ) async throws {
        for await effect in effects { try await body(effect) }
        throw CancellationError()
    }
}
