/// How far the recorder is behind its publishers: how old the newest batch is when it is taken.
///
/// Pure: times are given, in nanoseconds. `now` is of a monotonic clock, `date` is since 1970.
package struct RecorderLag: Sendable {
    /// Over which the measure is smoothed: one batch that was late is nothing.
    private static let smoothing: Int64 = 1_000_000_000
    /// Older batches were not published when they say.
    private static let longest: Int64 = 3_600_000_000_000

    package private(set) var seconds = 0.0
    /// Whether it is so far behind that somebody should do something.
    package private(set) var isLarge = false
    private var newest: Int64 = 0
    private var takenAt: Int64 = .min

    package init() {}

    /// - Parameters:
    ///   - published: when the newest of them was published.
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

    /// Notes that time passes: if nothing arrives, nothing is late; if nothing is taken of what arrives, it gets later.
    /// - Parameter isBlocked: whether what arrives has to wait.
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
