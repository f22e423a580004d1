package import ArgumentParser
import Files
import MessageBus
import Messages
import Recording
package import ServiceKit
import StepDetection
package import ZeroMQ

/// step-counter's command line.
@main
package struct StepCounterCommand: ServiceCommand {
    package static let program = Program.stepCounter
    package static let configuration: CommandConfiguration = {
        var configuration = commandConfiguration(
            abstract: "Counts the steps of people who wear accelerometers, live, and keeps their history.",
            discussion: """
                Steps are counted in every device's stream "accelerometer", from the first sample that its publisher still \
                has. Settings for single devices come from "devices" in a configuration file.
                """)
        configuration.subcommands += [CountCommand.self, QueryCommand.self]
        return configuration
    }()

    @OptionGroup package var options: ServiceOptions

    @Option(help: ArgumentHelp("Listen to this publisher; may be repeated.", valueName: "endpoint"))
    var subscribe: [Endpoint] = []

    @Option(
        help: ArgumentHelp(
            "Count steps in streams of this name; may be repeated (default: accelerometer).", valueName: "name"))
    var stream: [String] = []

    @Option(help: "Take streams that don't say their unit to be in this one: g or m/s2.")
    var unit: AccelerationUnit?

    @Option(help: "Where devices are worn: unknown, phone or wrist (default: unknown).")
    var placement: SensorPlacement?

    @Option(help: "How much must speak for walking: lenient, normal or strict (default: normal).")
    var strictness: StepStrictness?

    @Option(
        help: ArgumentHelp("Tell distances by this length of a stride, which is two steps.", valueName: "metres"))
    var strideLength: Double?

    @Option(help: "Keep the history of steps this long (default: 7d).")
    var keep: TimeSpan?

    @Option(help: ArgumentHelp("Count at most so many devices (default: 10000).", valueName: "count"))
    var maximumDevices: Int?

    @Option(help: "Ask a silent publisher for missing samples this long (default: 10s).")
    var recoveryLimit: TimeSpan?

    @Option(help: "Let this much wait in memory while samples are asked for (default: 64MB).")
    var holdLimit: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Let this many messages wait in the socket per publisher (default: 10000).", valueName: "count"))
    var receiveHighWaterMark: Int?

    package init() {}

    package func addFlags(to flags: inout FlagValues) {
        flags.set("subscribe", all: subscribe)
        flags.set("stream", all: stream)
        flags.set("unit", unit)
        flags.set("placement", placement)
        flags.set("strictness", strictness)
        flags.set("stride-length", strideLength)
        flags.set("keep", keep)
        flags.set("maximum-devices", maximumDevices)
        flags.set("recovery-limit", recoveryLimit)
        flags.set("hold-limit", holdLimit)
        flags.set("receive-high-water-mark", receiveHighWaterMark)
    }

    package static func settings(reading reader: ConfigurationReader) throws -> StepCounterSettings {
        try StepCounterSettings(reading: reader)
    }

    package static func check(_ settings: StepCounterSettings, _ configuration: ServiceConfiguration) async throws {
        do {
            try StepHistory.check(in: configuration.dataDirectory)
        } catch {
            throw ServiceError(.inputOutput, "\(error)")
        }
    }

    package static func publishingOptions(_ settings: StepCounterSettings) -> SocketOptions {
        var options = SocketOptions.publishing
        // A client that was stopped is let go, so that it does not get old totals when it goes on.
        options.heartbeat = .seconds(2)
        return options
    }

    package static func start(_ settings: StepCounterSettings, on host: ServiceHost) async throws -> RunningService {
        let listener = try await StepCounterService.listener(on: host, settings: settings)
        let engine: StepEngine
        do {
            engine = try StepEngine(settings: settings, host: host, listener: listener)
            try await engine.begin()
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
            parts: { _ in [StepCounterService(engine: engine, listener: listener, settings: settings)] })
    }
}
