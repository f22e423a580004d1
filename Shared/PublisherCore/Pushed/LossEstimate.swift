import SampleSources

/// Guesses from times alone how many samples are missing in a stream that nobody numbered: only in one whose samples come evenly.
struct LossEstimate {
    /// Intervals that are learned from, before anything is said.
    private static let learned = 32
    /// So many intervals one after the other that are unlike those before are another rate.
    private static let changed = 8
    /// An interval counts as missing samples from this many usual ones on.
    private static let suspicious = 1.5
    /// Intervals that differ by more than this from the usual one on average, as a part of it, are no even ones.
    private static let largestSpread = 0.25
    private static let forgetting = 1.0 / 32

    private var last: Int64?
    private var first: [Double] = []
    /// The usual interval and how far intervals are from it, in nanoseconds; nil while they are learned.
    private var usual: (interval: Double, spread: Double)?
    private var unlike = 0

    /// Learns from the time of the next sample, in nanoseconds.
    /// - Returns: how many are missing before it.
    mutating func missing(before time: Int64) -> Int {
        defer { last = time }
        guard let last, time > last else { return 0 }
        let interval = Double(time - last)
        guard let usual else {
            first.append(interval)
            if first.count == Self.learned { learn() }
            return 0
        }
        guard interval < Self.suspicious * usual.interval, interval > usual.interval / 2 else {
            unlike += 1
            if unlike == Self.changed { (self.usual, first, unlike) = (nil, [], 0) }
            guard interval > usual.interval, usual.spread < Self.largestSpread * usual.interval else { return 0 }
            return EstimatedLoss.samples(in: interval / usual.interval)
        }
        unlike = 0
        let distance = abs(interval - usual.interval)
        self.usual = (
            usual.interval + (interval - usual.interval) * Self.forgetting,
            usual.spread + (distance - usual.spread) * Self.forgetting
        )
        return 0
    }

    private mutating func learn() {
        let median = first.sorted()[first.count / 2]
        let spread = first.map { min(abs($0 - median), median) }.reduce(0, +) / Double(first.count)
        usual = (median, spread)
        first = []
    }
}
