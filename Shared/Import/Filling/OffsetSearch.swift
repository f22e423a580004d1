/// Finds what must be added to the times of an export to get uptimes of a publisher: the number by which most of the recorded samples
/// beside gaps are found again in the export, value by value.
///
/// The publisher added the same number to all times of one recording of the phone, so it is exact, whatever the clocks say. If its
/// machine slept, that is another number from then on: the one that more samples have is found.
struct OffsetSearch {
    enum Outcome: Hashable {
        case found(Int64)
        /// No sample was found again.
        case none
        /// Several fit as well: the values repeat.
        case ambiguous
    }

    /// How much two times of one sample may differ, in nanoseconds: apps may round them in different ways.
    static let slack: Int64 = 2_000
    /// Beyond so many nanoseconds from what the clocks say, only if nothing is nearer.
    static let nearby: Int64 = 600_000_000_000
    /// Offsets that are held, at most, of each kind: values that hardly change are found again in very many places.
    private static let maximumCandidates = 1_000_000

    private struct Place: Hashable {
        var stream: Int
        var key: SampleKey
    }

    /// What the clocks say that it is, about.
    private let expected: Int64
    private var anchors: [Place: [Int64]] = [:]
    private(set) var anchorCount = 0
    private var near: [Int64] = []
    private var far: [Int64] = []

    /// - Parameter expected: nanoseconds.
    init(expected: Int64) {
        self.expected = expected
    }

    /// Adds a recorded sample beside a gap.
    mutating func add(_ uptime: Int64, _ key: SampleKey, of stream: Int) {
        anchors[Place(stream: stream, key: key), default: []].append(uptime)
        anchorCount += 1
    }

    /// Takes a sample of the export.
    mutating func take(_ time: Int64, _ key: SampleKey, of stream: Int) {
        guard let uptimes = anchors[Place(stream: stream, key: key)] else { return }
        for uptime in uptimes {
            let offset = uptime &- time
            if (offset &- expected).magnitude <= Self.nearby.magnitude {
                if near.count < Self.maximumCandidates { near.append(offset) }
            } else if far.count < Self.maximumCandidates {
                far.append(offset)
            }
        }
    }

    var outcome: Outcome {
        let found = outcome(near)
        return found == .none ? outcome(far) : found
    }

    private func outcome(_ candidates: [Int64]) -> Outcome {
        let sorted = candidates.sorted()
        var best = 0
        var places: [(start: Int, end: Int)] = []
        var end = 0
        for start in sorted.indices {
            end = max(end, start)
            while end < sorted.count, sorted[end] - sorted[start] <= Self.slack { end += 1 }
            guard end - start >= best else { continue }
            if end - start > best { places = [] }
            best = end - start
            // What overlaps is one place.
            if let last = places.last, start < last.end { continue }
            places.append((start, end))
        }
        // One sample may be found anywhere by chance.
        guard best >= min(2, anchorCount), !places.isEmpty else { return .none }
        let offsets = places.map { Self.mostFrequent(sorted[$0.start..<$0.end]) }
        let ordered = offsets.sorted { ($0 &- expected).magnitude < ($1 &- expected).magnitude }
        guard ordered.count > 1 else { return .found(ordered[0]) }
        // The clocks must speak clearly for one of them.
        let (first, second) = ((ordered[0] &- expected).magnitude, (ordered[1] &- expected).magnitude)
        return first <= second / 4 ? .found(ordered[0]) : .ambiguous
    }

    private static func mostFrequent(_ sorted: ArraySlice<Int64>) -> Int64 {
        var best: (offset: Int64, count: Int) = (sorted[sorted.startIndex], 0)
        var run = 0
        var last = best.offset
        for offset in sorted {
            run = offset == last ? run + 1 : 1
            last = offset
            if run > best.count { best = (offset, run) }
        }
        return best.offset
    }
}
