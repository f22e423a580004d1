package import Messages

/// The share of a time that was counted, and why the rest was not.
package struct Coverage: Hashable, Sendable {
    private let range: Range<WallTime>
    /// The uncounted times, in order and without overlap.
    package let gaps: [UncountedTime]

    /// - Parameters:
    ///   - range: on the device's clock.
    ///   - spans: those that begin before the range ends and do not end before it begins, sorted by their starts. The one before
    ///     and the one after may be included: they explain the range's ends.
    ///   - hasEarlier: whether the device had samples before these spans.
    ///   - oldest: spans before this date are not kept.
    package init(
        of range: Range<WallTime>, in spans: some Sequence<CountedSpan>, hasEarlier: Bool = false,
        keptFrom oldest: WallTime? = nil
    ) {
        self.range = range
        var gaps: [UncountedTime] = []
        var cursor = range.lowerBound
        func note(_ end: WallTime, _ reason: UncountedTime.Reason, lost: Int = 0) {
            let end = min(end, range.upperBound)
            guard cursor < end else { return }
            gaps.append(UncountedTime(from: cursor, to: end, reason: reason, samples: lost > 0 ? lost : nil))
            cursor = end
        }
        if let oldest { note(oldest, .notKept) }
        var hasEarlier = hasEarlier
        // A loss that no sample has followed yet.
        var lastLoss: CountedSpan?
        for span in spans {
            lastLoss = span.isEmpty ? span : nil
            if !span.isEmpty {
                if hasEarlier, let reason = span.reason {
                    note(span.start, UncountedTime.Reason(rawValue: reason.rawValue), lost: span.lost)
                } else {
                    note(span.start, .unknown)
                }
                cursor = max(cursor, min(span.end, range.upperBound))
            }
            hasEarlier = true
        }
        if let lastLoss, let reason = lastLoss.reason {
            note(range.upperBound, UncountedTime.Reason(rawValue: reason.rawValue), lost: lastLoss.lost)
        }
        note(range.upperBound, hasEarlier ? .notArrived : .unknown)
        self.gaps = gaps
    }

    /// The share of the range that was counted, from 0 to 1; nil for an empty range.
    package var share: Double? { Self.share(of: range, without: gaps[...]) }

    /// The same for parts of the range, in order and without overlap.
    package func shares(of parts: [Range<WallTime>]) -> [Double?] {
        var remaining = gaps[...]
        return parts.map { part in
            remaining = remaining.drop { $0.to <= part.lowerBound }
            return Self.share(of: part, without: remaining.prefix { $0.from < part.upperBound })
        }
    }

    private static func share(of range: Range<WallTime>, without gaps: ArraySlice<UncountedTime>) -> Double? {
        guard !range.isEmpty else { return nil }
        let missing = gaps.reduce(0.0) { sum, gap in
            sum + min(gap.to, range.upperBound).seconds - max(gap.from, range.lowerBound).seconds
        }
        return max(0, 1 - missing / (range.upperBound.seconds - range.lowerBound.seconds))
    }
}
