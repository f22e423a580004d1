package import Logging
package import SystemPackage
import ZeroMQ

/// The checked settings of every program: `ServiceSettings`.
package struct ServiceConfiguration: Sendable {
    package let program: Program
    /// The directory of all files on disk.
    package let dataDirectory: FilePath
    /// The mode of files that the program creates; nil for the standard.
    package let fileMode: FileMode?
    /// The endpoint to publish events at, as configured: the port may still be open.
    package private(set) var publish: Endpoint
    /// The endpoint to answer requests at, as configured: the port may still be open.
    package private(set) var reply: Endpoint
    package let security: Security
    /// The maximum number of connections on each listening socket.
    package let maximumConnections: Int
    package let logLevel: Logger.Level
    package let logStyle: LogStyle
    /// The address of metrics; nil if they are not served.
    package private(set) var metrics: HTTPAddress?

    /// Reads the settings.
    /// - Throws: `ServiceError` (bad configuration) for a value that can't be parsed, and for an endpoint that other machines
    ///   can reach without `keys` or `insecure`.
    package init(for program: Program, reading reader: ConfigurationReader) throws(ServiceError) {
        self.program = program
        dataDirectory = try reader.value(\ServiceSettings.$data)
        fileMode = try reader.value(\ServiceSettings.$fileMode)
        publish = try reader.value(\ServiceSettings.$publish) ?? program.defaultPublish
        reply = try reader.value(\ServiceSettings.$reply) ?? program.defaultReply
        maximumConnections = try reader.value(\ServiceSettings.$maximumConnections)
        logLevel = try reader.value(\ServiceSettings.$logLevel)
        // Used by subcommands; the configuration file may have it.
        _ = try reader.value(\ServiceSettings.$clientKey)
        security = try Security(of: program, reading: reader)
        try security.require(publish, listeningFor: "publish")
        try security.require(reply, listeningFor: "reply")
        logStyle = try reader.value(\ServiceSettings.$logFormat)
        metrics = try reader.value(\ServiceSettings.$metrics)
        // Keys don't protect HTTP.
        try metrics?.requireLocal(insecure: reader.value(\ServiceSettings.$insecure))
    }

    /// Creates the configuration of a program that another one starts in the same process, from that program's settings. Its
    /// PUB socket is reachable only within the process.
    /// - Parameters:
    ///   - reply: the endpoint to answer requests at; only within the process if nil.
    ///   - metrics: the address of its own metrics.
    ///   - key: the option that sets `reply`, for error messages.
    /// - Throws: the errors of `init(for:reading:)`.
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
