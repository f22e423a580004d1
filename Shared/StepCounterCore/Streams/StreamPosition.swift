/// How far a stream's steps are counted, as it is committed with them.
package struct StreamPosition: Hashable, Sendable {
    /// The publisher's start that `next` belongs to.
    package var epoch: String
    /// The first sample whose steps are not in the history: how many samples of the epoch are counted.
    package var next: Int
    /// The detector at or before `next`. In a commit, nil leaves what was stored in the same epoch.
    package var snapshot: DetectorSnapshot?

    package init(epoch: String, next: Int, snapshot: DetectorSnapshot? = nil) {
        self.epoch = epoch
        self.next = next
        self.snapshot = snapshot
    }
}
