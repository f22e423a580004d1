package import ArgumentParser
package import ServiceKit
package import StepCounterEngine
import StepStorage
package import ZeroMQ

@main
package struct StepCounterCommand: ServiceCommand {
    package static let program = Program.stepCounter
    package static let configuration: CommandConfiguration = {
        var configuration = commandConfiguration(
            abstract: "Count the steps of people who wear accelerometers, live, and keep their history.",
            discussion: """
                Steps are counted in the stream "accelerometer" of every device, from the first sample that its publisher \
                still keeps. Configure single devices with "devices" in a configuration file.
                """)
        configuration.subcommands += [CountCommand.self, QueryCommand.self]
        return configuration
    }()

    @OptionGroup package var options: ProgramOptions

    @OptionGroup package var settings: SettingFlags<StepCounterSettings>

    package init() {}

    package static func check(_ settings: StepCounterSettings, _ configuration: ServiceConfiguration) async throws {
        do {
            try StepHistory.check(in: configuration.dataDirectory)
        } catch {
            throw ServiceError(.inputOutput, "\(error)")
        }
    }

    package static func publishingOptions(_ settings: StepCounterSettings) -> SocketOptions {
        var options = SocketOptions.publishing
        // A client that was suspended is disconnected, so that it does not receive outdated totals when it continues.
        options.heartbeat = settings.clientSilence.duration
        return options
    }

    package static func start(_ settings: StepCounterSettings, on host: ServiceHost) async throws -> RunningService {
        try await .stepCounter(settings, on: host)
    }
}
