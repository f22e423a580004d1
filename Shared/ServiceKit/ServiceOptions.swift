package import ArgumentParser
package import Logging

/// The options that every program has.
///
/// All are optional and none has a default here: what was not given is looked up in the environment and the
/// configuration file, and its default is written where the setting is read (`ServiceConfiguration`). A program adds
/// its own options beside this group and puts them into the same `FlagValues`:
///
/// ```swift
/// @OptionGroup var options: ServiceOptions
/// @Option(help: "How often data must reach the disk.") var syncInterval: TimeSpan?
/// …
/// var flags = options.flags
/// flags.set("sync-interval", syncInterval)
/// ```
package struct ServiceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Read settings from this JSON file.", valueName: "file"))
    package var config: String?

    @Option(help: ArgumentHelp("Keep files under this directory (default: ./data).", valueName: "dir"))
    package var data: String?

    @Option(help: ArgumentHelp("Publish events here.", valueName: "endpoint"))
    package var publish: Endpoint?

    @Option(help: ArgumentHelp("Answer requests here.", valueName: "endpoint"))
    package var reply: Endpoint?

    @Option(
        help: ArgumentHelp("Protect connections with the keys in this directory; see holdfast-keys.", valueName: "dir"))
    package var keys: String?

    @Option(help: ArgumentHelp("In a subcommand, show this key (default: the program's own).", valueName: "name"))
    package var clientKey: String?

    @Flag(help: "Speak with other machines also without keys.")
    package var insecure = false

    @Option(
        help: ArgumentHelp("Let so many peers connect to each socket (default: 256).", valueName: "count"))
    package var maximumConnections: Int?

    @Option(
        help: ArgumentHelp(
            "Log from this level on: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "level"),
        transform: Logger.Level.init(typed:))
    package var logLevel: Logger.Level?

    @Option(help: "Write the log as text or json (default: text).")
    package var logFormat: LogStyle?

    @Option(
        help: ArgumentHelp(
            "Serve Prometheus metrics here, a port alone on this machine only (default: nowhere).",
            valueName: "[host:]port"))
    package var metrics: MetricsAddress?

    @Flag(help: "Check the configuration and the state on disk, then exit.")
    package var check = false

    package init() {}

    /// What was given, for the configuration.
    package var flags: FlagValues {
        var flags = FlagValues()
        flags.set("config", config)
        flags.set("data", data)
        flags.set("publish", publish)
        flags.set("reply", reply)
        flags.set("keys", keys)
        flags.set("client-key", clientKey)
        flags.set("insecure", if: insecure)
        flags.set("maximum-connections", maximumConnections)
        flags.set("log-level", logLevel)
        flags.set("log-format", logFormat)
        flags.set("metrics", metrics)
        return flags
    }
}
