import Metrics
import ServiceLifecycle
import SystemPackage

/// Serves a program's metrics as a part of it, until it is asked to stop.
///
/// Like requests, they are served as long as other parts drain.
struct MetricsService: Service {
    /// How long the program may take to say what it counts; after that, only what is known without it is served.
    private static let limit = Duration.seconds(2)

    private let server: MetricsServer
    private let address: HTTPAddress
    /// What is said anyway.
    private let common: @Sendable () -> MetricsPage
    /// What the program counts: may wait for a thread that hangs.
    private let own: @Sendable () async -> MetricsPage

    /// Serves these metrics on a server that listens.
    init(
        server: MetricsServer, at address: HTTPAddress, common: @escaping @Sendable () -> MetricsPage,
        own: @escaping @Sendable () async -> MetricsPage
    ) {
        self.server = server
        self.address = address
        self.common = common
        self.own = own
    }

    /// Listens.
    /// - Throws: `ServiceError` if the address can't be listened on.
    static func listen(at address: HTTPAddress) throws -> MetricsServer {
        do {
            return try MetricsServer(host: address.host, port: address.port)
        } catch let error as Errno {
            throw ServiceError(
                error == .addressNotAvailable ? .badConfiguration : .inputOutput,
                "metrics can't be served at \(address): \(error); give --metrics another port or host")
        }
    }

    func run() async throws {
        let gatherer = MetricsGatherer(limit: Self.limit, own)
        do {
            try await cancelWhenGracefulShutdown {
                try await server.run {
                    // First, for it brings the program's counts to health, which the others are read from.
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
