/// The times of samples taken at a fixed rate.
///
/// Each time is computed from the sample's index, never from the time before it, so that errors do not add up: after a day the
/// error is still at most half a nanosecond.
package struct SampleSchedule: Hashable, Sendable {
    /// Samples a second.
    package let rate: Double
    private let wholeRate: Int64?

    /// - Throws: `invalidParameter` unless the rate is above zero and at most 1 GHz.
    package init(rate: Double) throws(PublisherError) {
        guard rate > 0, rate <= 1e9 else {
            throw PublisherError(
                .invalidParameter, "a rate of \(rate) Hz is not possible: give one above 0 and up to 1e9")
        }
        self.rate = rate
        wholeRate = Int64(exactly: rate)
    }

    /// The time of sample `index` in nanoseconds since the start, nil beyond `Nanoseconds.limit`.
    package func time(of index: Int64) -> Int64? {
        guard let wholeRate else { return Nanoseconds.from(nanoseconds: Double(index) * 1e9 / rate) }
        let (seconds, rest) = index.quotientAndRemainder(dividingBy: wholeRate)
        guard seconds < Nanoseconds.limit / Nanoseconds.perSecond else { return nil }
        return seconds * Nanoseconds.perSecond + (rest * Nanoseconds.perSecond + wholeRate / 2) / wholeRate
    }
}
