package import ArgumentParser
package import RelayEngine
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
        try await .relay(settings, on: host)
    }
}
