package import ArgumentParser
import Files
import MessageBus
import Recording
import Runtime
package import ServiceKit
package import ZeroMQ

/// relay's command line.
@main
package struct RelayCommand: ServiceCommand {
    package static let program = Program.relay
    package static let configuration: CommandConfiguration = {
        var configuration = commandConfiguration(
            abstract: "Carry streams between sites and machines, through servers of NATS that keep copies.",
            discussion: """
                With --to, streams of publishers here are stored in NATS JetStream, and on disk here until they are. With --from, \
                they are published here as by their publishers, and missing samples are replayed from NATS: recorders, step \
                counters and consoles subscribe to tcp://127.0.0.1:5540.
                """)
        configuration.subcommands += [LeadCommand.self]
        return configuration
    }()

    @OptionGroup package var options: ServiceOptions

    @OptionGroup package var settings: SettingFlags<RelaySettings>

    package init() {}

    package static func publishingOptions(_ settings: RelaySettings) -> SocketOptions {
        var options = SocketOptions.publishing
        // What waited at the sites comes all at once, faster than a recorder writes.
        options.sendHighWaterMark = 10_000
        return options
    }

    package static func start(_ settings: RelaySettings, on host: ServiceHost) async throws -> RunningService {
        if settings.to.isEmpty {
            let engine = try await ServingEngine(settings: settings, host: host)
            var running = await RunningService(engine, router: RequestRouter(engine))
            running.parts = { endpoints in
                engine.replayEndpoint = Endpoint.reachable(endpoints.reply)
                return [engine]
            }
            return running
        }
        let engine: SendingEngine
        do {
            engine = try await SendingEngine(settings: settings, host: host)
        } catch let error as RecordingError {
            throw ServiceError(error.code == .locked ? .badConfiguration : .inputOutput, "\(error)")
        }
        return await RunningService(engine, router: RequestRouter(), listener: engine.listener)
    }
}

extension Endpoint {
    /// What descriptions name as the endpoint of a socket: if it listens on all addresses, the loopback interface. Whoever hears that
    /// from another machine asks at the address that it comes from.
    fileprivate static func reachable(_ listening: String) -> String {
        guard let endpoint = try? Endpoint(typed: listening), endpoint.transport == .tcp, let port = endpoint.port,
            endpoint.isWildcard
        else { return listening }
        return Endpoint.loopback(port: port).description
    }
}
