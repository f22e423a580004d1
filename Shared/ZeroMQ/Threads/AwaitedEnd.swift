/// An end that comes once, with one task that waits for it, once.
public final class AwaitedEnd: Sendable {
    private let coming: AsyncStream<Never>
    private let ending: AsyncStream<Never>.Continuation

    package init() {
        (coming, ending) = AsyncStream.makeStream(of: Never.self)
    }

    /// Waits for the end, or until a time limit, or until the task is cancelled.
    public func wait(atMost limit: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.coming {} }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Ends the wait, or a later one at once.
    package func come() { ending.finish() }
}
