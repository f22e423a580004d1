/// Finds the offset from an export's times to a publisher's uptimes: the one at which most of the recorded samples next to gaps
/// are found in the export, value by value.
///
/// The publisher added the same offset to all times of one recording of the phone, so it is exact, regardless of the clocks. If
/// the publisher's machine slept, the offset changed then: the one with more samples is found.
struct OffsetSearch {
    enum Outcome: Hashable {
        case found(Int64)
        /// No sample was found in the export.
        case none
        /// Several offsets fit equally well: the values repeat.
        case ambiguous
    }

    /// How much two times of one sample may differ, in nanoseconds: apps round differently.
    static let slack: Int64 = 2_000
    /// Offsets further than this from the expected one, in nanoseconds, are used only if there is no nearer one.
    static let nearby: Int64 = 600_000_000_000
    /// The most offsets held, both for near and far ones: values that hardly change are found in very many places.
    private static let maximumCandidates = 1_000_000

    private struct Place: Hashable {
        var stream: Int
        var key: SampleKey
    }

    /// The approximate offset by the clocks, in nanoseconds.
    private let expected: Int64
    private var anchors: [Place: [Int64]] = [:]
    private(set) var anchorCount = 0
    private var near: [Int64] = []
    private var far: [Int64] = []

    /// - Parameter expected: in nanoseconds.
    init(expected: Int64) {
        self.expected = expected
    }

    /// Adds a recorded sample next to a gap.
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
            // Overlapping ranges count as one.
            if let last = places.last, start < last.end { continue }
            places.append((start, end))
        }
        // A single sample may be found anywhere by chance.
        guard best >= min(2, anchorCount), !places.isEmpty else { return .none }
        let offsets = places.map { Self.mostFrequent(sorted[$0.start..<$0.end]) }
        let ordered = offsets.sorted { ($0 &- expected).magnitude < ($1 &- expected).magnitude }
        guard ordered.count > 1 else { return .found(ordered[0]) }
        // The clocks must clearly favour one of them.
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
