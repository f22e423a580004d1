package import Logging
package import SystemPackage
import ZeroMQ

/// The settings that every program has, read and checked: `ServiceSettings`.
package struct ServiceConfiguration: Sendable {
    /// Which program this is.
    package let program: Program
    /// The directory that everything on disk lies under.
    package let dataDirectory: FilePath
    /// Who may read and write what the program makes; nil for the standard.
    package let fileMode: FileMode?
    /// Where the program publishes events, as asked: the port may still be open.
    package private(set) var publish: Endpoint
    /// Where the program answers requests, as asked: the port may still be open.
    package private(set) var reply: Endpoint
    /// How connections are protected.
    package let security: Security
    /// How many peers may be connected to each socket that listens.
    package let maximumConnections: Int
    /// The least level that is logged.
    package let logLevel: Logger.Level
    /// How log lines are written.
    package let logStyle: LogStyle
    /// Where metrics are served; nil if they are not.
    package private(set) var metrics: HTTPAddress?

    /// Reads the settings.
    /// - Throws: `ServiceError` (bad configuration) for a value that can't be read, and for an endpoint that other
    ///   machines can reach without `keys` or `insecure`.
    package init(for program: Program, reading reader: ConfigurationReader) throws(ServiceError) {
        self.program = program
        dataDirectory = try reader.value(\ServiceSettings.$data)
        fileMode = try reader.value(\ServiceSettings.$fileMode)
        publish = try reader.value(\ServiceSettings.$publish) ?? program.defaultPublish
        reply = try reader.value(\ServiceSettings.$reply) ?? program.defaultReply
        maximumConnections = try reader.value(\ServiceSettings.$maximumConnections)
        logLevel = try reader.value(\ServiceSettings.$logLevel)
        // A subcommand's, which may be in the same file.
        _ = try reader.value(\ServiceSettings.$clientKey)
        security = try Security(of: program, reading: reader)
        try security.require(publish, listeningFor: "publish")
        try security.require(reply, listeningFor: "reply")
        logStyle = try reader.value(\ServiceSettings.$logFormat)
        metrics = try reader.value(\ServiceSettings.$metrics)
        // Keys don't protect HTTP.
        try metrics?.requireLocal(insecure: reader.value(\ServiceSettings.$insecure))
    }

    /// Makes the configuration of a program that starts another one, from the settings of that one. Its PUB socket is reachable only
    /// within the process.
    /// - Parameters:
    ///   - reply: where it answers requests; only within the process if nil.
    ///   - metrics: where it serves its own metrics.
    ///   - key: the option that sets `reply`, for error messages.
    /// - Throws: as `init(for:reading:)`.
    package init(
        for program: Program, reading reader: ConfigurationReader, reply: Endpoint?, metrics: HTTPAddress?, key: String
    ) throws(ServiceError) {
        try self.init(for: program, reading: reader)
        publish = .inProcess("\(program)-publish")
        self.reply = reply ?? .inProcess("\(program)-reply")
        self.metrics = metrics
        try security.require(self.reply, listeningFor: key)
        try metrics?.requireLocal(insecure: reader.value(\ServiceSettings.$insecure))
    }
}
