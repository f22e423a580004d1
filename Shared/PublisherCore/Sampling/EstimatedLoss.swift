/// Estimates from the times around a loss how many samples without numbers are missing.
enum EstimatedLoss {
    /// The largest estimate of one loss.
    private static let most = 1_000_000.0

    /// - Parameter intervals: the time between the samples around the loss, in sample intervals; 0 if the interval is not known.
    /// - Returns: at least 1.
    static func samples(in intervals: Double) -> Int { Int(max(1, min(intervals.rounded() - 1, most))) }
}
