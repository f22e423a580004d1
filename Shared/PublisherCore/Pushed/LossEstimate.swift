import SampleSources

/// Estimates from times alone how many samples of an unnumbered stream are missing, if its samples are evenly spaced.
struct LossEstimate {
    /// The number of intervals to learn from before anything is estimated.
    private static let learned = 32
    /// This many consecutive intervals that differ from the usual one show another rate.
    private static let changed = 8
    /// An interval of at least this many usual ones counts as missing samples.
    private static let suspicious = 1.5
    /// If intervals differ from the usual one by more than this part of it on average, the samples are not evenly spaced.
    private static let largestSpread = 0.25
    private static let forgetting = 1.0 / 32

    private var last: Int64?
    private var first: [Double] = []
    /// The usual interval and the mean distance of intervals from it, in nanoseconds; nil while they are learned.
    private var usual: (interval: Double, spread: Double)?
    private var unlike = 0

    /// Learns from the time of the next sample, in nanoseconds.
    /// - Returns: how many samples are missing before it.
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
