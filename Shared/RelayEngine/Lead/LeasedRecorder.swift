import FoundationEssentials
package import Logging
package import Metrics
package import NATS
import Recording
import RelayCore
import Runtime
package import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// A recorder that runs only while this machine holds a lease.
package struct LeasedRecorder: Service {
    package struct Program: Sendable {
        /// The recorder's name, looked up as a shell does, and its options.
        let command: [String]
        /// Added to the recorder's environment.
        let variables: [String: String]
        let configuration: ServiceConfiguration
        /// The recorder's shard of the devices; nil for all devices.
        let shard: Shard?

        /// - Parameter shard: the shard from the environment or the configuration file, unless the command has an option for it.
        /// - Throws: `ServiceError` if the recorder's shard is invalid.
        package init(
            command: [String], variables: [String: String], configuration: ServiceConfiguration, shard: String?
        ) throws(ServiceError) {
            self.command = command
            self.variables = variables
            self.configuration = configuration
            // `--shard 2/3` or `--shard=2/3`.
            let words = command.flatMap { word -> [String] in
                word.hasPrefix("--shard=") ? word.split(separator: "=").map { String($0) } : [word]
            }
            let option = words.lastIndex(of: "--shard")
            let text = option.flatMap { words[($0 + 1)...].first } ?? shard
            self.shard = text.flatMap { Shard(rawValue: $0) }
            if let text, self.shard == nil {
                throw ServiceError(
                    .badConfiguration, "shard '\(text)' of the recorder: write 2/3 for the second of three")
            }
        }
    }

    private let engine: LeadEngine

    /// - Parameters:
    ///   - holder: the name of this machine; nil for its host name.
    ///   - patience: how long the holder may be silent before another machine takes the lease.
    ///   - servers: the servers that keep the lease, in `replicas` copies.
    /// - Throws: `ServiceError` if the recorder's endpoints cannot receive requests, `RecordingError` if the data directory
    ///   cannot be read.
    package init(
        _ program: Program, lease: String, holder: String?, patience: TimeSpan, servers: NATSSettings, replicas: Int,
        security: Security, health: Health, logger: Logger
    ) async throws {
        let times = LeaseTimes(patience: patience.nanoseconds)
        let directory = LeaseDirectory(
            data: program.configuration.dataDirectory, lease: lease, shard: program.shard)
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

    /// The state of the lease, as metrics for Prometheus.
    package var page: MetricsPage { get async { await engine.page } }

    package func run() async throws { try await engine.run() }

    /// Stops the recorder, releases the lease, and returns when both are done.
    package func finish() async { await engine.finish() }

    private static func endpoint(_ listener: Endpoint) throws(ServiceError) -> Endpoint {
        guard let endpoint = listener.reachableLocally else {
            throw ServiceError(.badConfiguration, "\(listener) has no fixed port to send requests to: write the port")
        }
        return endpoint
    }
}
