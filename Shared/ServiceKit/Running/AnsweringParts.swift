package import MessageBus
import Messages
package import Metrics
package import ServiceLifecycle
import Synchronization
import ZeroMQ

/// The parts of a program that answer requests on its REP socket and, if configured, serve its metrics over HTTP.
package struct AnsweringParts: Sendable {
    /// The program's endpoints, with actual ports.
    package let endpoints: ServiceEndpoints
    /// They stop last, so that a program that is shutting down still reports it.
    package let parts: [any Service]

    /// Binds the REP socket.
    /// - Parameters:
    ///   - router: the program's methods, besides those of every program.
    ///   - metrics: the program's counts, read whenever somebody reads its metrics.
    package init(
        on host: ServiceHost, router: RequestRouter = RequestRouter(),
        metrics: @escaping @Sendable () async -> MetricsPage
    ) async throws {
        let configuration = host.configuration
        let program = configuration.program
        let served = configuration.metrics.flatMap { address in
            host.metricsServer.map { (address: address, server: $0) }
        }
        let bound = Bound(
            ServiceEndpoints(
                publish: host.publishEndpoint, reply: configuration.reply.description,
                metrics: served.map { "http://\($0.address.place(port: $0.server.port))/metrics" }))
        var router = router
        router.onServiceRequests(of: program, health: host.health) { bound.endpoints }
        let server = try await host.replyServer(answering: router)
        bound.listening(at: server.endpoint)
        host.health.observe(.malformedRequests) { [malformed = router.malformed] in Double(malformed.count) }
        endpoints = bound.endpoints
        var parts: [any Service] = []
        if let served {
            parts.append(
                MetricsService(
                    server: served.server, at: served.address,
                    common: { [health = host.health, publisher = host.publisher, startedAt = WallTime.now] in
                        var page = MetricsPage(of: program, startedAt: startedAt, health: health)
                        page.add(publisher.connectionEvents, of: "publish")
                        page.add(server.connectionEvents, of: "reply")
                        return page
                    }, own: metrics))
        }
        self.parts =
            parts + [
                ReplyService(server: server),
                IncidentLog(host.incidents, health: host.health, logger: host.logger),
            ]
    }

    /// The program's endpoints: first with the configured ports, then with the actual ones.
    private final class Bound: Sendable {
        private let current: Mutex<ServiceEndpoints>

        init(_ endpoints: ServiceEndpoints) {
            current = Mutex(endpoints)
        }

        var endpoints: ServiceEndpoints { current.withLock { $0 } }

        func listening(at reply: String) {
            current.withLock { $0 = ServiceEndpoints(publish: $0.publish, reply: reply, metrics: $0.metrics) }
        }
    }
}
