package import MessageBus
package import Metrics
package import ServiceLifecycle

/// A service that is set up and about to run: its request handlers, its long-running parts, and its outcome.
package struct RunningService {
    /// The service's methods, besides those of every program.
    package var router: RequestRouter
    /// Creates the long-running parts, once all endpoints are known. Parts are stopped in reverse order, each after the next
    /// one has ended; they should end soon after `gracefulShutdown()`, and must end when they are cancelled.
    package var parts: (ServiceEndpoints) throws -> [any Service]
    /// Called when all parts have ended; returns `done` or `doneWithLoss`.
    package var outcome: @Sendable () -> ExitStatus

    /// The service's counts, read whenever somebody reads its metrics.
    package var metrics: @Sendable () async -> MetricsPage

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
