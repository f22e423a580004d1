/// The times in some ranges, or all times.
struct TimeRanges {
    /// In order, without overlap; nil for all times.
    private let ranges: [ClosedRange<Int64>]?

    static let all = TimeRanges(ranges: nil)

    private init(ranges: [ClosedRange<Int64>]?) { self.ranges = ranges }

    /// Ranges in any order, which may overlap.
    init(_ given: [ClosedRange<Int64>]) {
        var merged: [ClosedRange<Int64>] = []
        for range in given.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        ranges = merged
    }

    func contains(_ time: Int64) -> Bool {
        guard let ranges else { return true }
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < time { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(time)
    }
}
