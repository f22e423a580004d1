/// Samples that were lost: a run of sequence numbers of one epoch, and why.
public struct Gap: Codable, Hashable, Sendable {
    /// Why samples are missing for good.
    public struct Reason: RawRepresentable, Codable, Hashable, Sendable {
        /// The word on the wire and in logs.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The publisher keeps samples for a limited time, and these were older.
        public static let notRetained = Reason(rawValue: "notRetained")
        /// The publisher started anew, and what it kept of the epoch before is gone.
        public static let epochEnded = Reason(rawValue: "epochEnded")
        /// The publisher did not answer in time.
        public static let publisherUnreachable = Reason(rawValue: "publisherUnreachable")
        /// More samples arrived meanwhile than the recorder may hold back.
        public static let heldTooMuch = Reason(rawValue: "heldTooMuch")
        /// What arrived could not be read.
        public static let malformed = Reason(rawValue: "malformed")
        /// They could not be written, as on a full disk, or their session failed before they came, and did not wait for them.
        public static let notWritten = Reason(rawValue: "notWritten")
        /// The file that was imported, or the device that pushed the samples, does not have them, as its own sequence numbers show.
        public static let notInSource = Reason(rawValue: "notInSource")
        /// The times in the file that was imported, or that a phone or a device gave, have a gap, from which their number is estimated:
        /// there are no numbers of samples.
        public static let estimated = Reason(rawValue: "estimated")
    }

    /// The publisher's epoch.
    public var epoch: String
    /// The first missing sample.
    public var from: Int
    /// How many are missing; 0 if the number is unknown: the publisher ended while the recorder was not running, or was silent
    /// for more than 2 s before it restarted.
    public var count: Int
    /// Why.
    public var reason: Reason
    /// When it was given up, on the recorder's clock.
    public var date: WallTime?
    /// The uptime of the last sample before it, in seconds of the publisher's clock.
    public var afterUptime: Double?

    /// A run of missing samples.
    public init(
        epoch: String, from: Int, count: Int, reason: Reason, date: WallTime? = nil, afterUptime: Double? = nil
    ) {
        self.epoch = epoch
        self.from = from
        self.count = count
        self.reason = reason
        self.date = date
        self.afterUptime = afterUptime
    }
}
