import Metrics
import Synchronization

/// Asks a program what it counts, and does not wait for one that hangs.
final class MetricsGatherer: Sendable {
    private let limit: Duration
    private let own: @Sendable () async -> MetricsPage
    /// Whether an answer is waited for that did not come in time.
    private let isAsking = Mutex(false)

    init(limit: Duration, _ own: @escaping @Sendable () async -> MetricsPage) {
        self.limit = limit
        self.own = own
    }

    /// What the program counts; nil if it does not say so in time.
    func page() async -> MetricsPage? {
        // Only one question at a time waits for a program that hangs.
        let isFree = isAsking.withLock { isAsking in
            defer { isAsking = true }
            return !isAsking
        }
        guard isFree else { return nil }
        let (answers, answer) = AsyncStream.makeStream(of: MetricsPage.self, bufferingPolicy: .bufferingNewest(1))
        // Not a child: nobody may have to wait for it.
        Task {
            answer.yield(await own())
            isAsking.withLock { $0 = false }
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
