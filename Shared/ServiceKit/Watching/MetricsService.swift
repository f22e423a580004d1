import Metrics
import ServiceLifecycle
import SystemPackage

/// Serves a program's metrics until the program shuts down.
///
/// Like requests, metrics are served while other parts drain.
struct MetricsService: Service {
    /// How long to wait for the program's own counts; after that, only common ones are served.
    private static let limit = Duration.seconds(2)

    private let server: MetricsServer
    private let address: HTTPAddress
    /// The metrics that are served in any case.
    private let common: @Sendable () -> MetricsPage
    /// The program's own counts, which may wait for a thread that hangs.
    private let own: @Sendable () async -> MetricsPage

    init(
        server: MetricsServer, at address: HTTPAddress, common: @escaping @Sendable () -> MetricsPage,
        own: @escaping @Sendable () async -> MetricsPage
    ) {
        self.server = server
        self.address = address
        self.common = common
        self.own = own
    }

    /// Opens the server's socket.
    /// - Throws: `ServiceError` if the address can't be bound.
    static func listen(at address: HTTPAddress) throws -> MetricsServer {
        do {
            return try MetricsServer(host: address.host, port: address.port)
        } catch let error as Errno {
            throw ServiceError(
                .inputOutput,
                "metrics can't be served at \(address): \(error); choose another port or host with --metrics")
        }
    }

    func run() async throws {
        let gatherer = MetricsGatherer(limit: Self.limit, own)
        do {
            try await cancelWhenGracefulShutdown {
                try await server.run {
                    // Must be first: it copies the program's counts to `Health`, from which the others are read.
                    let own = await gatherer.page()
                    var page = common()
                    page.add(.isComplete, own == nil ? 0 : 1)
                    if let own { page.add(own) }
                    return page
                }
            }
        } catch is CancellationError {}
    }
}
