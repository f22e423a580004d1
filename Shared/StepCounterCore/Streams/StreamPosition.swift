/// The position up to which a stream's steps are counted, committed with the steps.
package struct StreamPosition: Hashable, Sendable {
    /// The epoch of `next`, that is the publisher's run.
    package var epoch: String
    /// The first sample whose steps are not in the history: the number of samples of the epoch that are counted.
    package var next: Int
    /// The detector's state at or before `next`. In a commit, nil keeps what is stored for the same epoch.
    package var snapshot: DetectorSnapshot?

    package init(epoch: String, next: Int, snapshot: DetectorSnapshot? = nil) {
        self.epoch = epoch
        self.next = next
        self.snapshot = snapshot
    }
}
