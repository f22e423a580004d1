/// How far a stream's steps are counted, as it was committed with them.
struct StreamPosition: Hashable, Sendable {
    /// The publisher's start that `next` belongs to.
    var epoch: String
    /// The first sample whose steps are not in the history: how many samples of the epoch are counted.
    var next: Int
    /// The detector at or before `next`. In a commit, nil leaves what was stored in the same epoch.
    var snapshot: DetectorSnapshot?
}
