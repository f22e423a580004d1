import TestSupport

/// What the records of a `FakePublisher` say: in each sample `x` is its sequence.
extension Sequence<LogItem> {
    /// The sequence numbers of the samples, in order.
    var sequences: [Int] { compactMap { $0.isSample ? $0.x.map { Int($0) } : nil } }
    /// The markers' words, in order.
    var markers: [String] { compactMap(\.marker) }
    /// The samples that the gaps name.
    var lost: [Range<Int>] {
        compactMap { record in
            guard record.marker == "gap", let from = record.from, let count = record.count else { return nil }
            return from..<from + count
        }
    }
}
