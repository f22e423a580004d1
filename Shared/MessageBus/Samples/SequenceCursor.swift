/// A receiver's position in the sample count of one epoch of one stream. It classifies arriving batches.
///
/// A pure value: it reports missing samples and does not fetch them.
public struct SequenceCursor: Hashable, Sendable {
    /// The class of a batch, relative to the next expected sample.
    public enum Arrival: Hashable, Sendable {
        /// New samples: skip the first `skip`, which arrived before, and take the rest.
        case next(skip: Int)
        /// No new samples.
        case duplicate
        /// New samples, but this range before them is missing.
        case gap(Range<Int>)
    }

    /// The sequence of the next expected sample.
    public private(set) var next: Int

    /// Creates a cursor that expects the sample `next`.
    public init(next: Int) {
        self.next = next
    }

    /// Classifies a batch of `count` samples from `sequence` on.
    public func arrival(of sequence: Int, count: Int) -> Arrival {
        if sequence + count <= next { return .duplicate }
        if sequence > next { return .gap(next..<sequence) }
        return .next(skip: next - sequence)
    }

    /// Advances to the sample after the last one that was taken or given up; never moves back.
    public mutating func advance(to sequence: Int) {
        next = max(next, sequence)
    }
}
