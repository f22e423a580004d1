/// How much may be sent at an instant so that it is no more than so many bytes a second over time.
struct TokenBucket: Hashable, Sendable {
    /// Bytes a second.
    let rate: Int
    /// Bytes that may be sent at once after a pause: a tenth of a second's, and at least a small packet.
    let burst: Int

    private var available: Int
    private var filledAt: Int64

    /// A full bucket at an instant, in nanoseconds of any clock that does not go back.
    init(rate: Int, at instant: Int64) {
        precondition(rate > 0, "a rate is positive")
        self.rate = rate
        burst = max(rate / 10, 1 << 10)
        available = burst
        filledAt = instant
    }

    /// Takes what may be sent now, of what somebody would like to send.
    /// - Returns: how many bytes, and, where none, how many nanoseconds it takes until there are enough to be worth it.
    mutating func take(upTo wanted: Int, at instant: Int64) -> (bytes: Int, wait: Int64) {
        let full = (Int128(burst - available) * 1_000_000_000 + Int128(rate) - 1) / Int128(rate)
        let elapsed = max(Int128(instant) - Int128(filledAt), 0)
        if elapsed >= full {
            available = burst
            filledAt = instant
        } else {
            let bytes = elapsed * Int128(rate) / 1_000_000_000
            available += Int(bytes)
            // Only the time that made whole bytes is used up.
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
