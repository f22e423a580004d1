/// The programs of Holdfast: their names, and the ports on which they publish and reply by default.
package enum Program: String, CaseIterable, CustomStringConvertible, Sendable {
    /// Samples sources and publishes batches.
    case sensorPublisher = "sensor-publisher"
    /// Records sessions.
    case recorder
    /// Detects steps live.
    case stepCounter = "step-counter"
    /// Knows and removes finished log files.
    case logManager = "log-manager"
    /// Archives and uploads finished sessions.
    case archiver
    /// Serves a web page about the others.
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

    /// Where the program publishes by default. The console publishes nothing, and its page is at its first port.
    package var defaultPublish: Endpoint {
        self == .console ? .inProcess("console") : .loopback(port: firstPort)
    }
    /// Where the program answers requests by default.
    package var defaultReply: Endpoint { .loopback(port: firstPort + 1) }

    /// The name that people type.
    package var description: String { rawValue }
}
