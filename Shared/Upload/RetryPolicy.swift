/// When an upload that failed is tried again: exponential backoff with full jitter (M. Brooker, "Exponential backoff
/// and jitter", AWS Architecture Blog, 2015), so that many machines that failed together don't come back together.
package struct RetryPolicy: Hashable, Sendable {
    /// How often is tried at most, the first time included.
    var attempts: Int
    /// What the first wait is chosen below; each further one has twice the room.
    var base = Duration.seconds(1)
    /// What no wait is chosen above.
    var cap = Duration.seconds(300)
    /// A receiver that asks for more patience than this is left alone until somebody asks for the upload again.
    var patience = Duration.seconds(3600)

    package init(attempts: Int = 8) { self.attempts = attempts }

    /// How long to wait before the next try.
    /// - Parameter attempt: how many tries have failed, this one included.
    /// - Returns: `nil` if it is to be given up.
    package func delay(
        afterAttempt attempt: Int, error: UploadError, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard attempt < attempts else { return nil }
        // Doubling 30 times is beyond every cap, and does not overflow.
        let room = min(cap, base * (1 << min(attempt - 1, 30)))
        let jitter = .nanoseconds(1) * Int64.random(in: 0...Int64(room / .nanoseconds(1)), using: &random)
        switch error.retry {
        case .never: return nil
        case .later: return jitter
        case .after(let time): return time > patience ? nil : time + jitter
        }
    }
}
