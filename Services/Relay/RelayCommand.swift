package import ArgumentParser
package import RelayEngine
package import ServiceKit
package import ZeroMQ

@main
package struct RelayCommand: ServiceCommand {
    package static let program = Program.relay
    package static let configuration: CommandConfiguration = {
        var configuration = commandConfiguration(
            abstract: "Carry streams between sites and machines, through NATS servers that keep copies.",
            discussion: """
                With --to, streams of local publishers are stored in NATS JetStream, and on the local disk until NATS has them. \
                With --from, streams are published here as if by their publishers, and missing samples are replayed from NATS. \
                Recorders, step counters and consoles subscribe to tcp://127.0.0.1:5540.
                """)
        configuration.subcommands += [LeadCommand.self]
        return configuration
    }()

    @OptionGroup package var options: ProgramOptions

    @OptionGroup package var settings: SettingFlags<RelaySettings>

    package init() {}

    package static func publishingOptions(_ settings: RelaySettings) -> SocketOptions {
        var options = SocketOptions.publishing
        // Samples that waited at the sites arrive all at once, faster than a recorder writes.
        options.sendHighWaterMark = 10_000
        return options
    }

    package static func start(_ settings: RelaySettings, on host: ServiceHost) async throws -> RunningService {
        try await .relay(settings, on: host)
    }
}
