/// A time in which a device's samples were not counted, and why. It may contain steps.
public struct UncountedTime: Codable, Hashable, Sendable {
    /// Why the samples were not counted.
    public struct Reason: RawRepresentable, Codable, Hashable, Sendable {
        /// The reason as one word on the wire: one of these, or a `Gap.Reason` if samples were lost.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No samples are known: the sensor took none, no step-counter ran, or the session was discarded.
        public static let unknown = Reason(rawValue: "unknown")
        /// After the last counted sample; more samples may arrive.
        public static let notArrived = Reason(rawValue: "notArrived")
        /// Before the start of the retained history.
        public static let notKept = Reason(rawValue: "notKept")
    }

    /// The first moment of this time, on the device's clock.
    public var from: WallTime
    /// The first moment after this time.
    public var to: WallTime
    /// Why the samples were not counted.
    public var reason: Reason
    /// The number of lost samples; absent if none were lost, or the number is unknown.
    public var samples: Int?

    /// Creates an uncounted time.
    public init(from: WallTime, to: WallTime, reason: Reason, samples: Int? = nil) {
        self.from = from
        self.to = to
        self.reason = reason
        self.samples = samples
    }
}
