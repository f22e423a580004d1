/// A histogram of the times between samples, in bins that are each a tenth wider than the one before.
///
/// A pure value of fixed size: from a hundredth of a millisecond to a quarter of an hour.
package struct IntervalHistogram: Hashable, Sendable {
    /// A bin of the histogram.
    package struct Bin: Hashable, Sendable {
        /// In seconds.
        package var from: Double
        package var to: Double
        package var count: Int
    }

    private static let first = 1e-5
    private static let growth = 1.1
    private static let binCount = 192

    private var counts = [Int](repeating: 0, count: binCount)

    package init() {}

    /// Counts an interval in seconds. Values out of range count in the first or the last bin.
    package mutating func add(_ seconds: Double) {
        let place = seconds > Self.first ? Self.log(seconds / Self.first) : 0
        counts[min(Self.binCount - 1, max(0, place))] += 1
    }

    /// The bins from the first to the last non-empty one.
    package var bins: [Bin] {
        guard let first = counts.firstIndex(where: { $0 > 0 }), let last = counts.lastIndex(where: { $0 > 0 }) else {
            return []
        }
        return (first...last).map { place in
            let from = Self.bounds[place]
            return Bin(from: from, to: from * Self.growth, count: counts[place])
        }
    }

    private static let bounds: [Double] = {
        var bound = first
        return (0..<binCount).map { _ in
            defer { bound *= growth }
            return bound
        }
    }()

    /// The bin of an interval, given as a multiple of the first bound.
    private static func log(_ ratio: Double) -> Int {
        var (low, high) = (0, binCount)
        let value = ratio * first
        while high - low > 1 {
            let middle = (low + high) / 2
            if bounds[middle] <= value { low = middle } else { high = middle }
        }
        return low
    }
}
