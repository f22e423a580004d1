package import MessageBus
package import Metrics
package import ServiceLifecycle

/// A service that is set up and about to run: what it answers, its long work, and how it went.
package struct RunningService {
    /// The methods that the service answers, besides those of every program.
    package var router: RequestRouter
    /// Makes the long work, once all endpoints are known. Parts are stopped in reverse order, each when the next has
    /// ended; they should end soon after `gracefulShutdown()`, and must end when they are cancelled.
    package var parts: (ServiceEndpoints) throws -> [any Service]
    /// Asked when all parts have ended: `done`, or `doneWithLoss`.
    package var outcome: @Sendable () -> ExitStatus

    /// What the service counts, asked for whenever somebody reads its metrics.
    package var metrics: @Sendable () async -> MetricsPage

    /// A service that is set up.
    package init(
        router: RequestRouter, outcome: @escaping @Sendable () -> ExitStatus = { .done },
        metrics: @escaping @Sendable () async -> MetricsPage = { MetricsPage() },
        parts: @escaping (ServiceEndpoints) throws -> [any Service]
    ) {
        self.router = router
        self.outcome = outcome
        self.metrics = metrics
        self.parts = parts
    }
}
