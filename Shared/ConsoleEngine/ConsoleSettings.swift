import Messages
package import ServiceKit
import SystemPackage

/// The settings of the console besides `ServiceSettings`.
package struct ConsoleSettings: SettingGroup {
    @Setting(
        "Serve the page at this address; a bare port number binds to the loopback interface.", valueName: "[host:]port")
    var listen = HTTPAddress.loopback(port: 5500)

    @Setting("Serve the page's files from this directory.", valueName: "dir", default: "those in the program")
    var pages: FilePath?

    @Setting("Require a token; the links printed at the start contain it.")
    var login = false

    @Setting(
        "Use TLS and require a token, with the certificate and tokens in this directory; missing ones are made.",
        valueName: "dir")
    var identity: FilePath?

    @Setting(
        "Serve the page under this name too, besides those in the certificate; may be repeated.", valueName: "host")
    var name: [String] = []

    @Setting(
        "Let web pages of this origin connect to /foxglove; may be repeated.", valueName: "origin")
    var allowOrigin: [String] = []

    @Setting("The highest role of a page: listen, command or delete.")
    var role = Role.delete

    @Setting(listeningTo: .sensorPublisher, "Subscribe to this publisher; may be repeated.")
    var subscribe: [Endpoint]

    @Setting(listeningTo: .recorder, "Subscribe to this recorder; may be repeated.")
    var recorderEvents: [Endpoint]

    @Setting(listeningTo: .stepCounter, "Subscribe to this step-counter; may be repeated.")
    var stepCounterEvents: [Endpoint]

    @Setting(listeningTo: .logManager, "Subscribe to this log-manager; may be repeated.")
    var logManagerEvents: [Endpoint]

    @Setting(listeningTo: .archiver, "Subscribe to this archiver; may be repeated.")
    var archiverEvents: [Endpoint]

    @Setting(asking: .sensorPublisher, "Send requests to this sensor-publisher.")
    var sensorPublisher: Endpoint

    @Setting(asking: .recorder, "Send requests to this recorder.")
    var recorder: Endpoint

    @Setting(asking: .stepCounter, "Send requests to this step-counter.")
    var stepCounter: Endpoint

    @Setting(asking: .logManager, "Send requests to this log-manager.")
    var logManager: Endpoint

    @Setting(asking: .archiver, "Send requests to this archiver.")
    var archiver: Endpoint

    /// Beyond this, the network is no longer read: samples that no page can keep up with are not worth the memory.
    @Setting(
        "Queue at most this many messages from each publisher.", valueName: "count", accepting: { $0 > 0 },
        otherwise: "1 or more")
    var receiveHighWaterMark = 1_000

    package init() {}

    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        guard listen.isLocal || identity != nil else {
            throw ServiceError(
                .badConfiguration,
                "listen \(listen) can be reached from other machines, over plain HTTP: pass --identity DIR, in which a "
                    + "certificate and tokens are made, or write \(listen.port) for this machine alone")
        }
    }
}
