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
            abstract: "Records sessions of sensor data so that nothing is lost.")
        configuration.subcommands += [RecordCommand.self, VerifyCommand.self, InfoCommand.self, RecoverCommand.self]
        return configuration
    }()

    @OptionGroup package var options: ServiceOptions

    @Option(help: ArgumentHelp("Listen to this publisher; may be repeated.", valueName: "endpoint"))
    var subscribe: [Endpoint] = []

    @Option(help: "Make data durable this often, 10ms to 200ms (default: 100ms).")
    var syncInterval: TimeSpan?

    @Option(help: "Ask a silent publisher for missing samples this long (default: 10s).")
    var recoveryLimit: TimeSpan?

    @Option(help: "Hold at most this much in memory while missing samples are requested (default: 64MB).")
    var holdLimit: ByteCount?

    @Option(help: "Stop sessions before less than this is free on the disk (default: 0, no such limit).")
    var minimumFree: ByteCount?

    @Option(help: ArgumentHelp("Take only this part of the devices: 2/3 for the second of three.", valueName: "k/n"))
    var shard: Shard?

    @Option(help: ArgumentHelp("Ask this log-manager how logs are to be written.", valueName: "endpoint"))
    var logManager: Endpoint?

    @Option(help: "Let a recording's start wait for log-manager this long (default: 300ms).")
    var logManagerLimit: TimeSpan?

    @Option(help: "Let this many messages of each publisher wait in the socket (default: 3000).")
    var receiveHighWaterMark: Int?

    package init() {}

    package func addFlags(to flags: inout FlagValues) {
        flags.set("subscribe", all: subscribe)
        flags.set("sync-interval", syncInterval)
        flags.set("recovery-limit", recoveryLimit)
        flags.set("hold-limit", holdLimit)
        flags.set("minimum-free", minimumFree)
        flags.set("shard", shard)
        flags.set("log-manager", logManager)
        flags.set("log-manager-limit", logManagerLimit)
        flags.set("receive-high-water-mark", receiveHighWaterMark)
    }

    package static func settings(reading reader: ConfigurationReader) throws -> RecorderSettings {
        try RecorderSettings(reading: reader)
    }

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
