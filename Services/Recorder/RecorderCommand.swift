package import ArgumentParser
package import RecorderEngine
import Recording
package import ServiceKit

@main
package struct RecorderCommand: ServiceCommand {
    package static let program = Program.recorder
    package static let configuration: CommandConfiguration = {
        var configuration = commandConfiguration(
            abstract: "Record sessions of sensor data without losing a sample.")
        configuration.subcommands += [
            RecordCommand.self, VerifyCommand.self, InfoCommand.self, ExportCommand.self, ReportCommand.self,
            RecoverCommand.self, DiscardCommand.self, AnnotateCommand.self, ImportCommand.self,
            FillCommand.self, WatchCommand.self, KeepCommand.self,
        ]
        return configuration
    }()

    @OptionGroup package var options: ProgramOptions

    @OptionGroup package var settings: SettingFlags<RecorderSettings>

    package init() {}

    package static func check(_ settings: RecorderSettings, _ configuration: ServiceConfiguration) async throws {
        _ = try SessionDirectory.sessions(in: configuration.dataDirectory)
    }

    package static func start(_ settings: RecorderSettings, on host: ServiceHost) async throws -> RunningService {
        try await .recorder(settings, on: host)
    }
}
