package import ArgumentParser
package import LogManagerEngine
import LogStorage
import Recording
package import ServiceKit
package import ZeroMQ

@main
package struct LogManagerCommand: ServiceCommand {
    package static let program = Program.logManager
    package static let configuration: CommandConfiguration = {
        var configuration = commandConfiguration(
            abstract: "Keep track of finished stream files, and remove them by rule or on request.",
            discussion: """
                Nothing is removed except on request or by --when-full.
                """)
        configuration.subcommands += [UsageCommand.self, ListCommand.self]
        return configuration
    }()

    @OptionGroup package var options: ProgramOptions

    @OptionGroup package var settings: SettingFlags<LogManagerSettings>

    @Flag(help: "Print what --when-full would remove now, and exit without removing it.")
    var dryRun = false

    package init() {}

    package func run() async throws {
        if dryRun { return try await DryRun.run(flags) }
        let status = await ServiceRunner<Self>.run(flags: flags, checkOnly: options.check)
        if status != .done { throw ExitCode(status.rawValue) }
    }

    package static func check(_ settings: LogManagerSettings, _ configuration: ServiceConfiguration) async throws {
        do {
            _ = try SessionDirectory.sessions(in: configuration.dataDirectory)
            try Catalog.check(in: configuration.dataDirectory)
        } catch {
            throw ServiceError(.inputOutput, "\(error)")
        }
    }

    package static func publishingOptions(_ settings: LogManagerSettings) -> SocketOptions {
        var options = SocketOptions.publishing
        // Each removed file is an event, and a clean-up publishes thousands.
        options.sendHighWaterMark = 10_000
        return options
    }

    package static func start(_ settings: LogManagerSettings, on host: ServiceHost) async throws -> RunningService {
        try await .logManager(settings, on: host)
    }
}
