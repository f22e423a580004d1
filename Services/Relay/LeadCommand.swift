import ArgumentParser
import Glibc
import Logging
import Metrics
import NATS
import RelayEngine
import ServiceKit
import ServiceLifecycle
import SystemPackage
import UnixSignals

/// The `lead` subcommand: runs a recorder only while this machine holds a lease.
struct LeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lead", abstract: "Run a recorder on one of several machines: another takes over when it dies.",
        discussion: """
            relay lead --lease study --servers tls://n1 --servers tls://n2 --servers tls://n3 -- recorder --subscribe tcp://sensors:5550

            The recorder receives --data, --publish, --reply and the other options that both commands have; do not repeat them \
            after --.
            """)

    @OptionGroup var options: ServiceOptions

    @Option(help: ArgumentHelp("The lease's name: one for each recorder that must run only once.", valueName: "name"))
    var lease: String

    @Option(
        help: ArgumentHelp(
            "Keep the lease on this NATS server; may be repeated, for other servers of the same cluster.",
            valueName: "nats://host"),
        transform: NATSAddress.init(typed:))
    var servers: [NATSAddress]

    @Option(help: "Take the lease when its holder has been silent for this long, 1s to 60s.")
    var patience = TimeSpan.seconds(6)

    @Option(help: ArgumentHelp("Name this machine (default: its host name).", valueName: "name"))
    var holder: String?

    @Option(
        help: ArgumentHelp(
            "Answer requests about the lease here, as `relay health --reply` sends them (default: nowhere).",
            valueName: "endpoint"))
    var leadReply: Endpoint?

    @Option(
        help: ArgumentHelp("Serve metrics about the lease here (default: nowhere).", valueName: "[host:]port"))
    var leadMetrics: HTTPAddress?

    /// The relay's own settings. The lease uses `--replicas` and the NATS credentials among them.
    @OptionGroup(visibility: .hidden) var settings: SettingFlags<RelaySettings>

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The recorder and its options.", valueName: "command"))
    var command: [String] = ["recorder"]

    func validate() throws {
        let characters: Set<Character> = Set("-_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        if lease.isEmpty || lease.utf8.count > 128 || !lease.allSatisfy(characters.contains) {
            throw ValidationError("--lease '\(lease)': write up to 128 letters (a to z), digits, - and _")
        }
        if patience < .seconds(1) || patience > .seconds(60) {
            throw ValidationError("--patience is \(patience): write 1s to 60s")
        }
    }

    func run() async throws {
        try await Program.relay.showing { try await lead() }
    }

    private func lead() async throws {
        let reader = try ConfigurationReader(for: .recorder, flags: options.flags)
        let configuration = try ServiceConfiguration(for: .recorder, reading: reader)
        FileMode.apply(configuration.fileMode)
        LoggingSystem.bootstrapStandardError(from: configuration.logLevel, as: configuration.logStyle)
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        // A guard process that has ended must not end this program.
        signal(SIGPIPE, SIG_IGN)
        let own = try ConfigurationReader(for: .relay, flags: settings.flags)
        let logger = Logger(label: "relay")
        let health = Health()
        let recorder = try await LeasedRecorder(
            LeasedRecorder.Program(
                command: command, variables: variables(configuration), configuration: configuration,
                shard: reader.value("shard", as: String.self)),
            lease: lease, holder: holder, patience: patience, servers: servers(own, reader),
            replicas: own.value(\RelaySettings.$replicas), security: Security(askingWith: reader, as: .recorder),
            health: health, logger: logger)
        let answering = try await answering(reader, health: health, logger: logger) { await recorder.page }
        let parts = [recorder] + (answering?.parts ?? [])
        try await runUntilSignal(
            signals, parts.map { part in { try await part.run() } }, finish: { await recorder.finish() })
    }

    /// Serves health requests and metrics about the lease; nil if neither option is given.
    private func answering(
        _ reader: ConfigurationReader, health: Health, logger: Logger,
        metrics: @escaping @Sendable () async -> MetricsPage
    ) async throws -> AnsweringParts? {
        guard leadReply != nil || leadMetrics != nil else { return nil }
        let host = try ServiceHost(
            configuration: ServiceConfiguration(
                for: .relay, reading: reader, reply: leadReply, metrics: leadMetrics, key: "lead-reply"),
            logger: logger, health: health)
        let answering = try await AnsweringParts(on: host, metrics: metrics)
        var metadata: Logger.Metadata = [LogKey.reply: "\(answering.endpoints.reply)"]
        if let metrics = answering.endpoints.metrics { metadata[LogKey.metrics] = "\(metrics)" }
        logger.notice("answers requests about the lease", metadata: metadata)
        return answering
    }

    private func servers(
        _ own: ConfigurationReader, _ reader: ConfigurationReader
    ) throws(ServiceError) -> NATSSettings {
        let user = try NATSUserSettings(reading: own)
        let insecure = try reader.value(\ServiceSettings.$insecure)
        try user.check(servers, insecure: insecure, risk: "change the lease")
        var settings = NATSSettings(servers: servers.map(\.description), name: "holdfast lease \(lease)")
        try user.fill(&settings, insecure: insecure)
        return settings
    }

    /// The recorder's environment: the options of this command that the recorder shares, and the setting to leave its sessions
    /// open when it is stopped.
    private func variables(_ configuration: ServiceConfiguration) -> [String: String] {
        var variables = options.flags.variables(of: .recorder)
        variables["HOLDFAST_RECORDER_DATA"] = configuration.dataDirectory.string
        variables["HOLDFAST_RECORDER_ON_STOP"] = "continue"
        return variables
    }
}
