package import ArgumentParser
import Files
import MessageBus
import Recording
package import ServiceKit

/// The recorder's command line.
@main
package struct RecorderCommand: ServiceCommand {
    package static let program = Program.recorder
    package static let configuration: CommandConfiguration = {
        var configuration = commandConfiguration(
            abstract: "Record sessions of sensor data without losing a sample.")
        configuration.subcommands += [
            RecordCommand.self, VerifyCommand.self, InfoCommand.self, ExportCommand.self, RecoverCommand.self,
        ]
        return configuration
    }()

    @OptionGroup package var options: ServiceOptions

    @OptionGroup package var settings: SettingFlags<RecorderSettings>

    package init() {}

    package static func check(_ settings: RecorderSettings, _ configuration: ServiceConfiguration) async throws {
        _ = try SessionDirectory.sessions(in: configuration.dataDirectory)
    }

    /// A hundred samples of eight fields as JSON take 16 KB, and the kernel holds some more.
    private static let messageBytes = 20 << 10

    package static func start(_ settings: RecorderSettings, on host: ServiceHost) async throws -> RunningService {
        let listener = try await host.listenerToStreams(
            at: settings.subscribe, receiveHighWaterMark: settings.receiveHighWaterMark, messageBytes: messageBytes)
        let engine: RecordingEngine
        do {
            engine = try await RecordingEngine(settings: settings, host: host, listener: listener)
        } catch let error as RecordingError {
            throw ServiceError(error.code == .locked ? .badConfiguration : .inputOutput, "\(error)")
        }
        let loss = engine.loss
        return RunningService(
            router: RequestRouter(engine), outcome: { loss.isRaised ? .doneWithLoss : .done },
            metrics: {
                var page = await engine.metrics
                page.add(listener)
                return page
            },
            parts: { _ in [RecorderService(engine: engine, listener: listener)] })
    }
}
