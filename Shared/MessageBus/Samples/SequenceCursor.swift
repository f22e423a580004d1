/// Where a receiver stands in a stream's count of samples, and what a batch means there.
///
/// A pure value: what is missing is said, not fetched. One cursor follows one epoch of one stream.
public struct SequenceCursor: Hashable, Sendable {
    /// What a batch brings, seen from the next expected sample.
    public enum Arrival: Hashable, Sendable {
        /// New samples: skip the first `skip`, which were had before, and take the rest.
        case next(skip: Int)
        /// Nothing new.
        case duplicate
        /// New samples, but these before them are missing.
        case gap(Range<Int>)
    }

    /// The sequence of the next expected sample.
    public private(set) var next: Int

    /// A cursor that expects a given sample.
    public init(next: Int) {
        self.next = next
    }

    /// What a batch of `count` samples from `sequence` on brings.
    public func arrival(of sequence: Int, count: Int) -> Arrival {
        if sequence + count <= next { return .duplicate }
        if sequence > next { return .gap(next..<sequence) }
        return .next(skip: next - sequence)
    }

    /// Moves on to the sample after the last that was taken, or given up.
    public mutating func advance(to sequence: Int) {
        next = max(next, sequence)
    }
}
