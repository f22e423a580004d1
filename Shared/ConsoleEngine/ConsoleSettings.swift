import Messages
package import ServiceKit
import SystemPackage

/// What the console reads besides `ServiceSettings`.
package struct ConsoleSettings: SettingGroup {
    @Setting(
        "Serve the page at this address; a bare port number binds to the loopback interface.", valueName: "[host:]port")
    var listen = HTTPAddress.loopback(port: 5500)

    @Setting("Serve the page's files from this directory.", valueName: "dir", default: "those in the program")
    var pages: FilePath?

    @Setting("Ask for a token, which the links printed at the start have.")
    var login = false

    @Setting(
        "Speak TLS, and ask for a token, with the certificate and tokens in this directory; they are made if they are missing.",
        valueName: "dir")
    var identity: FilePath?

    @Setting("Be reached by this name, besides those in the certificate; may be repeated.", valueName: "host")
    var name: [String] = []

    @Setting(
        "Let a viewer that is a web page of this origin connect to /foxglove; may be repeated.", valueName: "origin")
    var allowOrigin: [String] = []

    @Setting("What pages may do at most: listen, command or delete.")
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

    @Setting(asking: .sensorPublisher, "Ask sensor-publisher at this endpoint.")
    var sensorPublisher: Endpoint

    @Setting(asking: .recorder, "Ask recorder at this endpoint.")
    var recorder: Endpoint

    @Setting(asking: .stepCounter, "Ask step-counter at this endpoint.")
    var stepCounter: Endpoint

    @Setting(asking: .logManager, "Ask log-manager at this endpoint.")
    var logManager: Endpoint

    @Setting(asking: .archiver, "Ask archiver at this endpoint.")
    var archiver: Endpoint

    /// Beyond them the network is no longer read: samples that no page can keep up with are not worth the memory.
    @Setting(
        "Queue at most this many messages from each publisher.", valueName: "count", accepting: { $0 > 0 },
        otherwise: "1 or more")
    var receiveHighWaterMark = 1_000

    package init() {}

    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        guard listen.isLocal || identity != nil else {
            throw ServiceError(
                .badConfiguration,
                "listen \(listen) can be reached from other machines, over plain HTTP: give --identity a directory, in which a "
                    + "certificate and tokens are made, or write \(listen.port) for this machine alone")
        }
    }
}
