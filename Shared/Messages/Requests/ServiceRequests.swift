/// Asks a program for its health: `service.health`.
public struct ServiceHealth: Request, Hashable {
    /// The name on the wire.
    public static let method = "service.health"
    /// The required role.
    public var neededRole: Role { .listen }

    /// A program's health.
    public struct Reply: Codable, Hashable, Sendable {
        /// How well the program does its work.
        public var status: Status
        /// Why the status is not `ok`, in sentences.
        public var reasons: [String]
        /// Seconds since the program started.
        public var uptime: Double
        /// The program's version.
        public var version: String
        /// The program's measurements, by name with the unit: `latenessMedianSeconds`.
        public var measures: [String: Double]?

        /// Creates the reply.
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

    /// A program's health in one word.
    public enum Status: String, Codable, Hashable, Sendable {
        /// The program works without problems.
        case ok
        /// The program works in spite of a problem, such as an absent peer.
        case degraded
        /// The program does not do its work.
        case failing
    }

    /// Creates the request.
    public init() {}
}

/// Asks a program for its clocks: `service.clock`.
///
/// The program reads the clocks just before it replies. A client that asks several times, and takes the fastest reply, knows
/// the offset between the two machines' clocks to within half of the round trip.
public struct ServiceClock: Request, Hashable {
    /// The name on the wire.
    public static let method = "service.clock"
    /// The required role.
    public var neededRole: Role { .listen }

    /// The readings of a program's clocks.
    public struct Reply: Codable, Hashable, Sendable {
        /// Both clocks at one instant.
        public var clock: ClockReading

        /// Creates the reply.
        public init(clock: ClockReading) { self.clock = clock }
    }

    /// Creates the request.
    public init() {}
}

/// Asks a program for its description: `service.describe`.
public struct ServiceDescribe: Request, Hashable {
    /// The name on the wire.
    public static let method = "service.describe"
    /// The required role.
    public var neededRole: Role { .listen }

    /// A program's description.
    public struct Reply: Codable, Hashable, Sendable {
        /// The program's name: `recorder`.
        public var name: String
        /// The program's version.
        public var version: String
        /// The program's endpoints: `publish`, `reply`, and the URL of its `metrics` if it serves any.
        public var endpoints: [String: String]
        /// The methods that the program answers, sorted.
        public var methods: [String]

        /// Creates the reply.
        public init(name: String, version: String, endpoints: [String: String], methods: [String]) {
            self.name = name
            self.version = version
            self.endpoints = endpoints
            self.methods = methods
        }
    }

    /// Creates the request.
    public init() {}
}
