/// A time in which a device's samples were not counted, and why: it may have had steps.
public struct UncountedTime: Codable, Hashable, Sendable {
    /// Why they were not counted.
    public struct Reason: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire: one of these, or a `Gap.Reason` if samples were lost.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No sample is known: the sensor took none, no step-counter ran, or the session was discarded.
        public static let unknown = Reason(rawValue: "unknown")
        /// After the last sample that was counted: others may arrive.
        public static let notArrived = Reason(rawValue: "notArrived")
        /// Before what the history keeps.
        public static let notKept = Reason(rawValue: "notKept")
    }

    /// Its first moment, on the device's clock.
    public var from: WallTime
    /// The first moment after it.
    public var to: WallTime
    /// Why.
    public var reason: Reason
    /// How many samples were lost; left out if none were, or the number is unknown.
    public var samples: Int?

    /// A time without samples.
    public init(from: WallTime, to: WallTime, reason: Reason, samples: Int? = nil) {
        self.from = from
        self.to = to
        self.reason = reason
        self.samples = samples
    }
}
