package import Messages

/// A place where a stream's samples are not consecutive, and the reason.
package struct StreamBreak: Hashable, Sendable {
    /// Reasons for absent samples. Lost samples have the reason of their gap.
    package static let paused = "paused"
    /// The publisher restarted.
    package static let newEpoch = "newEpoch"
    /// The samples' file was removed after it was finished.
    package static let removed = "removed"
    /// The session's ring removed the samples' file, as the session was started to do.
    package static let ring = "removedByRing"
    /// The samples' file is missing.
    package static let missing = "missing"
    /// The samples can't be read, and damage is accepted.
    package static let damaged = "damaged"

    package var reason: String
    package var epoch: String?
    /// The number of the first absent sample, if it has one.
    package var from: Int?
    /// How many samples are absent; 0 if unknown.
    package var count: Int
    /// The time of the last sample before the break, in nanoseconds since the session's start; `nil` if there is none.
    package var after: Int64?
    /// The time of the first sample after the break; `nil` if there is none.
    package var before: Int64?
    /// The epoch of the sample before the break or, if there is none, of the sample after it.
    package var neighbour: String?
    /// The epoch of the sample after the break; at the stream's end, of the last sample.
    package var next: String?
    /// When the samples were given up, on the recorder's clock.
    package var date: WallTime?

    package init(reason: String, epoch: String? = nil, from: Int? = nil, count: Int, date: WallTime? = nil) {
        self.reason = reason
        self.epoch = epoch
        self.from = from
        self.count = count
        self.date = date
    }

    /// Whether samples are missing that should be in the export: not after a pause, a restart, or removal by a ring.
    package var isLoss: Bool { ![Self.paused, Self.newEpoch, Self.ring].contains(reason) }
}
