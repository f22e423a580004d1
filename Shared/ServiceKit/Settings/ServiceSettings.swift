package import Logging
package import SystemPackage
import ZeroMQ

/// The settings of every program. Relative paths start at the program's working directory.
package struct ServiceSettings: SettingGroup {
    /// Read by `ConfigurationReader`.
    @Setting("Read settings from this JSON file.", valueName: "file")
    package var config: FilePath?

    @Setting("Keep files under this directory.", valueName: "dir")
    package var data: FilePath = "./data"

    @Setting(
        "Make files with this mode; directories can be entered by everybody who may read the files.", valueName: "mode",
        default: "0640, less what the umask forbids")
    package var fileMode: FileMode?

    /// `Program.defaultPublish` if nil.
    @Setting("Publish events here.", valueName: "endpoint")
    package var publish: Endpoint?

    /// `Program.defaultReply` if nil.
    @Setting("Answer requests here.", valueName: "endpoint")
    package var reply: Endpoint?

    @Setting("Protect connections with the keys in this directory; see holdfast-keys.", valueName: "dir")
    package var keys: FilePath?

    @Setting("Present this key in a subcommand.", valueName: "name", default: "the program's own")
    package var clientKey: String?

    @Setting("Allow connections to other machines without keys.")
    package var insecure = false

    /// Each peer takes one of the process's file descriptors (`OpenFiles`), on each of the two sockets.
    @Setting(
        "Accept at most this many connections on each socket.", valueName: "count", accepting: (1...20_000).contains,
        otherwise: "1 to 20000")
    package var maximumConnections = SocketOptions().maximumConnections

    @Setting(
        "Log messages of this level and above: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).",
        valueName: "level")
    package var logLevel = Logger.Level.info

    @Setting("Write the log as text or json.")
    package var logFormat = LogStyle.text

    @Setting(
        "Serve Prometheus metrics at this address; a bare port number binds to the loopback interface.",
        valueName: "[host:]port",
        default: "nowhere")
    package var metrics: HTTPAddress?

    package init() {}
}
