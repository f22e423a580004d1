import Metrics
import Synchronization

/// Gathers a program's own counts, without waiting for a program that hangs.
final class MetricsGatherer: Sendable {
    private let limit: Duration
    private let own: @Sendable () async -> MetricsPage
    /// Whether a question is still unanswered.
    private let isAsking = Mutex(false)

    init(limit: Duration, _ own: @escaping @Sendable () async -> MetricsPage) {
        self.limit = limit
        self.own = own
    }

    /// The program's counts; nil if they are not ready in time.
    func page() async -> MetricsPage? {
        // At most one question waits for a program that hangs.
        let isFree = isAsking.withLock { isAsking in
            defer { isAsking = true }
            return !isAsking
        }
        guard isFree else { return nil }
        let (answers, answer) = AsyncStream.makeStream(of: MetricsPage.self, bufferingPolicy: .bufferingNewest(1))
        // Not a child task, because its parent would have to wait for it.
        Task {
            let page = await own()
            // Before the page is handed over: whoever has it may ask again.
            isAsking.withLock { $0 = false }
            answer.yield(page)
        }
        return await withTaskGroup(of: MetricsPage?.self) { group in
            group.addTask {
                for await page in answers { return page }
                return nil
            }
            group.addTask { [limit] in
                try? await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
