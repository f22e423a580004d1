import FoundationEssentials
package import Logging
package import Metrics
package import NATS
import RelayCore
import Runtime
package import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// A recorder that runs only while this machine holds a lease.
package struct LeasedRecorder: Service {
    /// The recorder as a program.
    package struct Program: Sendable {
        /// Its name, looked up as a shell does, and its options.
        let command: [String]
        /// Added to its environment.
        let variables: [String: String]
        /// What it is configured with.
        let configuration: ServiceConfiguration

        package init(command: [String], variables: [String: String], configuration: ServiceConfiguration) {
            self.command = command
            self.variables = variables
            self.configuration = configuration
        }
    }

    private let engine: LeadEngine

    /// - Parameters:
    ///   - holder: this machine; nil for its host name.
    ///   - patience: how long the holder may be silent before the lease is taken.
    ///   - servers: where the lease is kept, in so many copies as `replicas` says.
    /// - Throws: `ServiceError` if the recorder's endpoints can't be asked, `RecordingError` if the data directory can't be read.
    package init(
        _ program: Program, lease: String, holder: String?, patience: TimeSpan, servers: NATSSettings, replicas: Int,
        security: Security, health: Health, logger: Logger
    ) async throws {
        let times = LeaseTimes(patience: patience.nanoseconds)
        let directory = LeaseDirectory(data: program.configuration.dataDirectory, lease: lease)
        let name = holder ?? HostName.current ?? "localhost"
        engine = try await LeadEngine(
            core: Leadership(
                times, holder: name, instance: "\(name)/\(UUID().uuidString)", localTerm: try directory.term(),
                at: .min),
            store: LeaseStore(
                NATSConnection(servers), lease: lease, replicas: replicas, limit: times.answer / 1_000_000),
            directory: directory,
            program: LeadEngine.Program(
                command: program.command, variables: program.variables,
                publish: Self.endpoint(program.configuration.publish),
                reply: Self.endpoint(program.configuration.reply)),
            peers: Peers(context: try Context(), thread: try SocketThread(name: "bus"), security: security),
            health: health, logger: logger)
    }

    /// What there is to know about the lease, for Prometheus.
    package var page: MetricsPage { get async { await engine.page } }

    package func run() async throws { try await engine.run() }

    /// Stops the recorder, gives the lease away, and returns when that is done.
    package func finish() async { await engine.finish() }

    private static func endpoint(_ listener: Endpoint) throws(ServiceError) -> Endpoint {
        guard let endpoint = listener.reachableLocally else {
            throw ServiceError(.badConfiguration, "\(listener) does not say which port to ask: write the port")
        }
        return endpoint
    }
}
