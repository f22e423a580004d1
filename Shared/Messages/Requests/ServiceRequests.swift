/// Asks a program whether it does its work: `service.health`.
public struct ServiceHealth: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "service.health"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// How a program is.
    public struct Reply: Codable, Hashable, Sendable {
        /// How well the program does its work.
        public var status: Status
        /// Why it is not `ok`, in sentences.
        public var reasons: [String]
        /// Seconds since the program started.
        public var uptime: Double
        /// The program's version.
        public var version: String
        /// What the program measures of itself, by name with its unit: `latenessMedianSeconds`.
        public var measures: [String: Double]?

        /// A program's state.
        public init(
            status: Status, reasons: [String], uptime: Double, version: String, measures: [String: Double]? = nil
        ) {
            self.status = status
            self.reasons = reasons
            self.uptime = uptime
            self.version = version
            self.measures = measures
        }
    }

    /// How well a program does its work.
    public enum Status: String, Codable, Hashable, Sendable {
        /// All is well.
        case ok
        /// It works, and something is wrong: a peer is away, say.
        case degraded
        /// It does not do its work.
        case failing
    }

    /// Asks.
    public init() {}
}

/// Asks a program what its clocks say: `service.clock`.
///
/// The clocks are read just before the reply. Who asks several times, and takes the answer that came back soonest, knows
/// how far the clocks of two machines are apart, to half the time between question and answer.
public struct ServiceClock: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "service.clock"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// What a program's clocks say.
    public struct Reply: Codable, Hashable, Sendable {
        /// Both clocks at one instant.
        public var clock: ClockReading

        /// An answer.
        public init(clock: ClockReading) { self.clock = clock }
    }

    /// Asks.
    public init() {}
}

/// Asks a program what it is: `service.describe`.
public struct ServiceDescribe: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "service.describe"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// What a program is.
    public struct Reply: Codable, Hashable, Sendable {
        /// The program's name: `recorder`.
        public var name: String
        /// Its version.
        public var version: String
        /// Its sockets: `publish` and `reply`, and the URL of its `metrics` where it serves any.
        public var endpoints: [String: String]
        /// The methods that it answers, sorted.
        public var methods: [String]

        /// A program's description.
        public init(name: String, version: String, endpoints: [String: String], methods: [String]) {
            self.name = name
            self.version = version
            self.endpoints = endpoints
            self.methods = methods
        }
    }

    /// Asks.
    public init() {}
}
