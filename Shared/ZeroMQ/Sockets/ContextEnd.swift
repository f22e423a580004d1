/// The end of a context, after which no message waits to be sent.
public final class ContextEnd: Sendable {
    private let coming: AsyncStream<Never>
    private let ending: AsyncStream<Never>.Continuation

    init() {
        (coming, ending) = AsyncStream.makeStream(of: Never.self)
    }

    /// Waits for the end, or until a time limit.
    public func wait(atMost limit: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.coming {} }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    func come() { ending.finish() }
}
