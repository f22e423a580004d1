/// An estimate of how many samples are missing where they have no numbers, from the times around the loss.
enum EstimatedLoss {
    /// The most that is guessed at once.
    private static let most = 1_000_000.0

    /// - Parameter intervals: how many times the interval between two samples fits between those around the loss; 0 if the
    ///   interval is not known.
    /// - Returns: 1 at least.
    static func samples(in intervals: Double) -> Int { Int(max(1, min(intervals.rounded() - 1, most))) }
}
