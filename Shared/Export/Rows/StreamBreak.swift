package import Messages

/// A place where the samples of a stream do not follow on each other, and why.
package struct StreamBreak: Hashable, Sendable {
    /// Why samples are absent. Lost samples have the reason of their gap.
    package static let paused = "paused"
    /// The publisher started anew.
    package static let newEpoch = "newEpoch"
    /// The file that had them was removed after it was finished.
    package static let removed = "removed"
    /// The session's ring removed the file that had them, as it was started to do.
    package static let ring = "removedByRing"
    /// The file that had them is missing.
    package static let missing = "missing"

    package var reason: String
    package var epoch: String?
    /// The first absent sample, if it has a number.
    package var from: Int?
    /// How many are absent; 0 if that is unknown.
    package var count: Int
    /// The time of the last sample before, in nanoseconds since the session's start; `nil` if there is none.
    package var after: Int64?
    /// The time of the first sample behind; `nil` if there is none.
    package var before: Int64?
    /// When samples were given up, on the recorder's clock.
    package var date: WallTime?

    package init(reason: String, epoch: String? = nil, from: Int? = nil, count: Int, date: WallTime? = nil) {
        self.reason = reason
        self.epoch = epoch
        self.from = from
        self.count = count
        self.date = date
    }

    /// Whether samples that were taken are absent from the export, other than those of a pause, or that a ring removed.
    package var isLoss: Bool { ![Self.paused, Self.newEpoch, Self.ring].contains(reason) }
}
