/// Lost samples: a run of sequence numbers of one epoch, and the cause.
public struct Gap: Codable, Hashable, Sendable {
    /// Why samples are lost for good.
    public struct Reason: RawRepresentable, Codable, Hashable, Sendable {
        /// The reason as one word, on the wire and in files.
        public let rawValue: String

        /// Any word: later versions may add some.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The publisher retains samples for a limited time, and these were older.
        public static let notRetained = Reason(rawValue: "notRetained")
        /// The publisher restarted, and no longer has the samples of the previous epoch.
        public static let epochEnded = Reason(rawValue: "epochEnded")
        /// The publisher did not answer in time.
        public static let publisherUnreachable = Reason(rawValue: "publisherUnreachable")
        /// More samples arrived in the meantime than the recorder may hold back.
        public static let heldTooMuch = Reason(rawValue: "heldTooMuch")
        /// The samples arrived and could not be read.
        public static let malformed = Reason(rawValue: "malformed")
        /// The samples, or the steps in them, could not be written, as on a full disk, or their session failed before
        /// they came and did not wait for them.
        public static let notWritten = Reason(rawValue: "notWritten")
        /// The imported file, or the device that pushed the samples, does not have them, as its own sequence numbers show.
        public static let notInSource = Reason(rawValue: "notInSource")
        /// The times in the imported file, or those that a phone or a device sent, have a gap. The number of samples is
        /// estimated from it, because the source does not number them.
        public static let estimated = Reason(rawValue: "estimated")
    }

    /// The publisher's epoch.
    public var epoch: String
    /// The first missing sample.
    public var from: Int
    /// The number of missing samples; 0 if it is unknown: the publisher ended while the recorder was not running, or was silent
    /// for more than 2 s before it restarted.
    public var count: Int
    /// Why the samples are lost.
    public var reason: Reason
    /// When the recorder gave them up, on the recorder's clock.
    public var date: WallTime?
    /// The uptime of the last sample before the gap, in seconds of the publisher's clock.
    public var afterUptime: Double?

    /// Creates a gap.
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
