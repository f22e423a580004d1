/// The programs of Holdfast: their names, and their default ports.
package enum Program: String, CaseIterable, CustomStringConvertible, Sendable {
    /// Takes samples from sources and publishes batches.
    case sensorPublisher = "sensor-publisher"
    /// Records sessions.
    case recorder
    /// Detects steps live.
    case stepCounter = "step-counter"
    /// Catalogs and removes finished stream files.
    case logManager = "log-manager"
    /// Archives and uploads finished sessions.
    case archiver
    /// Serves a web page about the other programs.
    case console
    /// Carries streams between sites, through NATS.
    case relay

    /// The port of the PUB socket. The REP socket has the next one.
    private var firstPort: UInt16 {
        switch self {
        case .sensorPublisher: 5550
        case .recorder: 5560
        case .stepCounter: 5570
        case .logManager: 5580
        case .archiver: 5590
        case .console: 5500
        case .relay: 5540
        }
    }

    /// The default endpoint for events. The console publishes nothing; its page is at its first port.
    package var defaultPublish: Endpoint {
        self == .console ? .inProcess("console") : .loopback(port: firstPort)
    }
    /// The default endpoint for requests.
    package var defaultReply: Endpoint { .loopback(port: firstPort + 1) }

    package var description: String { rawValue }
}
