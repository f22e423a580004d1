import Files
import Messages
import Recording

/// The time range of a query, half-open, and its bins.
struct StepRange: Hashable, Sendable {
    let from: WallTime
    let to: WallTime
    /// The length of a bin in nanoseconds; nil for a single bin.
    private let interval: UInt64?

    /// Checks a query.
    /// - Throws: `invalidParameter` if it ends before it begins, or its bins are impossible.
    init(_ query: StepsQuery) throws(RecordingError) {
        func refuse(_ reason: String, _ advice: String) -> RecordingError {
            RecordingError(.invalidParameter, action: "count steps", reason: reason, advice: advice)
        }
        from = query.from
        to = query.to
        guard from <= to else {
            throw refuse(
                "the range ends (\(to.utcText)) before it begins (\(from.utcText))", "Exchange from and to.")
        }
        guard let seconds = query.interval else {
            interval = nil
            return
        }
        let nanoseconds = (seconds * 1e9).rounded()
        guard nanoseconds >= 1, nanoseconds.isFinite else {
            throw refuse("an interval of \(seconds) seconds can't be", "Write a number of seconds above 0.")
        }
        let interval = UInt64(exactly: min(nanoseconds, 1e19)) ?? .max
        let length = Self.distance(from, to)
        guard length.dividedRoundingUp(by: interval) <= StepsQuery.maximumBins else {
            throw refuse(
                "the range has more than \(StepsQuery.maximumBins) intervals of \(seconds) seconds",
                "Ask for longer intervals, or for the range in parts.")
        }
        self.interval = interval
    }

    /// Passes each bin, in order: its start and its end, which is exclusive. The last bin ends with the range.
    func forEachBin(_ body: (WallTime, WallTime) throws -> Void) rethrows {
        guard let interval else { return try body(from, to) }
        var start = from
        while start < to {
            let end =
                Self.distance(start, to) <= interval
                ? to
                : WallTime(
                    nanosecondsSince1970: start.nanosecondsSince1970 &+ Int64(truncatingIfNeeded: interval))
            try body(start, end)
            start = end
        }
    }

    /// Nanoseconds from one moment to a later one, possibly more than an `Int64` holds.
    private static func distance(_ from: WallTime, _ to: WallTime) -> UInt64 {
        UInt64(bitPattern: to.nanosecondsSince1970 &- from.nanosecondsSince1970)
    }
}

extension UInt64 {
    fileprivate func dividedRoundingUp(by divisor: UInt64) -> UInt64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder == 0 ? quotient : quotient + 1
    }
}
