/// Samples that could not be had: a run of sequence numbers of one epoch, and why.
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
    }

    /// The publisher's epoch.
    public var epoch: String
    /// The first missing sample.
    public var from: Int
    /// How many are missing.
    public var count: Int
    /// Why.
    public var reason: Reason

    /// A run of missing samples.
    public init(epoch: String, from: Int, count: Int, reason: Reason) {
        self.epoch = epoch
        self.from = from
        self.count = count
        self.reason = reason
    }
}
