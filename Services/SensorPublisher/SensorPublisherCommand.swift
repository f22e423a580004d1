package import ArgumentParser
import MessageBus
import Messages
package import ServiceKit
package import ZeroMQ

/// The sensor publisher's command line.
@main
package struct SensorPublisherCommand: ServiceCommand {
    package static let program = Program.sensorPublisher
    package static let configuration = commandConfiguration(
        abstract: "Samples sensors, or what stands for them, and publishes the samples.",
        discussion: "One stream is said by options; several by \"streams\" in a configuration file.")

    @OptionGroup package var options: ServiceOptions

    @Option(
        help: ArgumentHelp("Sample a made signal: walk, sine, noise, constant, or a sum of these.", valueName: "spec"))
    var signal: String?

    @Option(help: ArgumentHelp("Play a JSON file of points.", valueName: "file"))
    var points: String?

    @Option(help: ArgumentHelp("Play a recorded CSV or NDJSON file, also compressed with gzip.", valueName: "file"))
    var replay: String?

    @Option(
        help: ArgumentHelp("Publish what a program writes to standard input: csv or ndjson.", valueName: "format"),
        transform: LineParser.Format.init(typed:))
    var stdin: LineParser.Format?

    @Option(help: "The device's name; %h in it stands for this machine's (default: phone).")
    var device: String?

    @Option(help: "The stream's name; deviceMotion has fields of its own (default: accelerometer).")
    var stream: String?

    @Option(
        help: ArgumentHelp("Samples per second (default: 100 for a signal, else what the file has).", valueName: "hz"))
    var rate: Double?

    @Option(help: ArgumentHelp("Samples in a message (default: a hundredth of a second's).", valueName: "count"))
    var batch: Int?

    @Option(help: "What the values are measured in: g, m/s2 (default: a walk's is g).")
    var unit: String?

    @Flag(help: "Publish the values as binary, in a frame of their own.")
    var packed = false

    @Option(help: ArgumentHelp("Play so many times as fast (default: 1).", valueName: "factor"))
    var speed: Double?

    @Flag(help: "Begin a replay again at its end.")
    var loop = false

    @Flag(help: "Take the time of a replay's first row as 0.")
    var rebase = false

    @Option(
        help: ArgumentHelp("Convert a replay's accelerations to g or m/s2.", valueName: "unit"),
        transform: AccelerationUnit.init(typed:))
    var convert: AccelerationUnit?

    @Option(help: "Keep samples for replay this long (default: 10m).")
    var retention: TimeSpan?

    @Option(help: ArgumentHelp("Keep at most this much for replay (default: 256MB).", valueName: "size"))
    var retentionBytes: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Let this many messages wait per subscriber (default: 1000, or 10 per stream).", valueName: "count"))
    var highWaterMark: Int?

    @Option(
        help: ArgumentHelp(
            "Tell others to ask for samples here: a host, or tcp://HOST:PORT (default: this machine's address).",
            valueName: "host"))
    var announce: String?

    @Flag(help: "Let streams wait until they are started by a request.")
    var startStopped = false

    package init() {}

    package func addFlags(to flags: inout FlagValues) {
        flags.set("signal", signal)
        flags.set("points", points)
        flags.set("replay", replay)
        flags.set("stdin", stdin)
        flags.set("device", device)
        flags.set("stream", stream)
        flags.set("rate", rate)
        flags.set("batch", batch)
        flags.set("unit", unit)
        flags.set("packed", if: packed)
        flags.set("speed", speed)
        flags.set("loop", if: loop)
        flags.set("rebase", if: rebase)
        flags.set("convert", convert)
        flags.set("retention", retention)
        flags.set("retention-bytes", retentionBytes)
        flags.set("high-water-mark", highWaterMark)
        flags.set("announce", announce)
        flags.set("start-stopped", if: startStopped)
    }

    package static func settings(reading reader: ConfigurationReader) throws -> PublisherSettings {
        try PublisherSettings(reading: reader)
    }

    package static func publishingOptions(_ settings: PublisherSettings) -> SocketOptions {
        var options = SocketOptions.publishing
        options.sendHighWaterMark = settings.highWaterMark
        return options
    }

    package static func check(_ settings: PublisherSettings, _ configuration: ServiceConfiguration) async throws {
        for stream in settings.streams {
            do {
                try stream.checkSource()
            } catch {
                throw ServiceError(error)
            }
        }
    }

    package static func start(_ settings: PublisherSettings, on host: ServiceHost) async throws -> RunningService {
        try start(settings, on: host) { SleepWatch.elapsedNow }
    }

    /// Starts with another clock to notice by that the machine slept, in nanoseconds.
    package static func start(
        _ settings: PublisherSettings, on host: ServiceHost, elapsedClock: @escaping @Sendable () -> Int64
    ) throws -> RunningService {
        let engine = try SamplingEngine(settings: settings, host: host, elapsedClock: elapsedClock)
        return RunningService(
            router: RequestRouter(engine), metrics: { await engine.metrics },
            parts: { endpoints in
                engine.replayEndpoint = Endpoint.announced(endpoints.reply, as: settings.announcement)
                return [SensorPublisherService(engine: engine)]
            })
    }
}
