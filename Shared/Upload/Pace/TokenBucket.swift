/// Limits an average rate in bytes per second.
struct TokenBucket: Hashable, Sendable {
    /// Bytes per second.
    let rate: Int
    /// The number of bytes that may be sent at once after a pause: a tenth of a second's worth, and at least 1 KiB.
    let burst: Int

    private var available: Int
    private var filledAt: Int64

    /// A full bucket at an instant, in nanoseconds of any clock that does not go backwards.
    init(rate: Int, at instant: Int64) {
        precondition(rate > 0, "a rate is positive")
        self.rate = rate
        burst = max(rate / 10, 1 << 10)
        available = burst
        filledAt = instant
    }

    /// Takes at most the wanted number of bytes.
    /// - Returns: the number of bytes; if it is 0, also the nanoseconds until a worthwhile number is available.
    mutating func take(upTo wanted: Int, at instant: Int64) -> (bytes: Int, wait: Int64) {
        let full = (Int128(burst - available) * 1_000_000_000 + Int128(rate) - 1) / Int128(rate)
        let elapsed = max(Int128(instant) - Int128(filledAt), 0)
        if elapsed >= full {
            available = burst
            filledAt = instant
        } else {
            let bytes = elapsed * Int128(rate) / 1_000_000_000
            available += Int(bytes)
            // Only the time for whole bytes is used up.
            filledAt += Int64(bytes * 1_000_000_000 / Int128(rate))
        }
        let least = min(wanted, 1 << 10)
        guard available >= least else {
            return (0, Int64((Int128(least - available) * 1_000_000_000 + Int128(rate) - 1) / Int128(rate)))
        }
        let bytes = min(wanted, available)
        available -= bytes
        return (bytes, 0)
    }
}
