/// How far the recorder is behind its publishers: the age of the newest batch when the recorder takes it.
///
/// Pure: times are given, in nanoseconds. `now` is of a monotonic clock, `date` is since 1970.
package struct RecorderLag: Sendable {
    /// Time over which the lag is smoothed, so that a single late batch does not count.
    private static let smoothing: Int64 = 1_000_000_000
    /// Batches that seem older have a wrong publication time and are ignored.
    private static let longest: Int64 = 3_600_000_000_000

    package private(set) var seconds = 0.0
    /// Whether the lag is so large that somebody should act: over 2 s, until it is at most 1 s.
    package private(set) var isLarge = false
    private var newest: Int64 = 0
    private var takenAt: Int64 = .min

    package init() {}

    /// - Parameters:
    ///   - published: when the newest of the batches was published.
    ///   - allowance: seconds by which a publisher's clock is known to be behind.
    package mutating func take(published: Int64, date: Int64, allowance: Double, at now: Int64) {
        guard date - published < Self.longest else { return }
        newest = max(published, min(newest, date))
        let lag = max(0, Double(date - published) / 1e9 - allowance)
        let (elapsed, isFirst) = now.subtractingReportingOverflow(takenAt)
        let weight = isFirst ? 1 : min(1, max(0, Double(elapsed) / Double(Self.smoothing)))
        seconds += (lag - seconds) * weight
        takenAt = now
        judge()
    }

    /// Notes that time passes without a batch. If nothing arrives, nothing is late; if batches arrive and are not taken, the lag
    /// grows.
    /// - Parameter isBlocked: whether arriving batches have to wait.
    package mutating func pass(isBlocked: Bool, date: Int64, allowance: Double, at now: Int64) {
        guard now.subtractingReportingOverflow(takenAt).partialValue > Self.smoothing || takenAt == .min else { return }
        if isBlocked, newest > 0 {
            seconds = max(seconds, Double(date - newest) / 1e9 - allowance)
        } else {
            seconds = 0
        }
        judge()
    }

    private mutating func judge() { isLarge = seconds > (isLarge ? 1 : 2) }
}
