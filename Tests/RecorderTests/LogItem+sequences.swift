import TestSupport

/// The records of a `FakePublisher`: in each sample `x` is its sequence.
extension Sequence<LogItem> {
    var sequences: [Int] { compactMap { $0.isSample ? $0.x.map { Int($0) } : nil } }
    var markers: [String] { compactMap(\.marker) }
    /// The samples covered by gaps.
    var lost: [Range<Int>] {
        compactMap { record in
            guard record.marker == "gap", let from = record.from, let count = record.count else { return nil }
            return from..<from + count
        }
    }
}
