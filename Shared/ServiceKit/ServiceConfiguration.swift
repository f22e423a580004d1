package import Logging
package import SystemPackage
import ZeroMQ

/// The settings that every program has, read and checked.
///
/// | key | what it is | unit | default |
/// | --- | --- | --- | --- |
/// | `config` | the JSON file that has settings, read by `ConfigurationReader` | path | none |
/// | `data` | the directory that everything on disk lies under | path | `./data` |
/// | `publish` | where the program publishes events | endpoint | `Program.defaultPublish` |
/// | `reply` | where the program answers requests | endpoint | `Program.defaultReply` |
/// | `keys` | the directory of keys that protect connections: see `KeyDirectory` | path | none: nothing is protected |
/// | `client-key` | whose key the program's subcommands show | name of a key | the program's own |
/// | `insecure` | whether other machines may be spoken with also without keys | true or false | false |
/// | `maximum-connections` | how many peers may be connected to each socket that listens | 1 to 20,000 | 256 |
/// | `log-level` | the least level that is logged | level of swift-log | `info` |
/// | `log-format` | how log lines are written | `text` or `json` | `text` |
/// | `metrics` | where Prometheus reads metrics | port, or host and port | nowhere |
///
/// Relative paths count from the directory that the program was started in.
package struct ServiceConfiguration: Sendable {
    /// Which program this is.
    package let program: Program
    /// The directory that everything on disk lies under.
    package let dataDirectory: FilePath
    /// Where the program publishes events, as asked: the port may still be open.
    package let publish: Endpoint
    /// Where the program answers requests, as asked: the port may still be open.
    package let reply: Endpoint
    /// How connections are protected.
    package let security: Security
    /// How many peers may be connected to each socket that listens.
    package let maximumConnections: Int
    /// The least level that is logged.
    package let logLevel: Logger.Level
    /// How log lines are written.
    package let logStyle: LogStyle
    /// Where metrics are served; nil where they are not.
    package let metrics: MetricsAddress?

    /// Reads the settings.
    /// - Throws: `ServiceError` (bad configuration) for a value that can't be read, and for an endpoint that other
    ///   machines can reach without `keys` or `insecure`.
    package init(for program: Program, reading reader: ConfigurationReader) throws(ServiceError) {
        self.program = program
        dataDirectory = try reader.value("data", default: "./data")
        publish = try reader.value("publish", default: program.defaultPublish)
        reply = try reader.value("reply", default: program.defaultReply)
        maximumConnections = try reader.value(
            "maximum-connections", default: ConnectionLimits().maximumConnections)
        // Each is an open file of `OpenFiles`, of both sockets.
        guard (1...20_000).contains(maximumConnections) else {
            throw ServiceError(
                .badConfiguration, "maximum-connections is \(maximumConnections): write 1 to 20000")
        }
        logLevel = try reader.value("log-level", default: .info)
        // A subcommand's, which may be in the same file.
        _ = try reader.value("client-key", as: String.self)
        security = try Security(of: program, reading: reader)
        try security.require(publish, listeningFor: "publish")
        try security.require(reply, listeningFor: "reply")
        logStyle = try reader.value("log-format", default: .text)
        metrics = try reader.value("metrics", as: MetricsAddress.self)
        // Keys don't protect HTTP.
        try metrics?.requireLocal(insecure: reader.value("insecure", default: false))
    }
}
