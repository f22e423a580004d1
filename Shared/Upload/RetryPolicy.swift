/// The delays between attempts after failures: exponential backoff with full jitter (M. Brooker, "Exponential backoff and
/// jitter", AWS Architecture Blog, 2015), so that machines that failed together do not retry together.
package struct RetryPolicy: Hashable, Sendable {
    /// The maximum number of attempts, including the first.
    var attempts: Int
    /// The upper bound of the first random delay. It doubles with each attempt.
    var base = Duration.seconds(1)
    /// The upper bound of all random delays.
    var cap = Duration.seconds(300)
    /// If a receiver requests a longer delay than this, the upload is not retried until someone requests it.
    var patience = Duration.seconds(3600)

    package init(attempts: Int = 8) { self.attempts = attempts }

    /// The delay before the next attempt.
    /// - Parameter attempt: the number of failed attempts, including this one.
    /// - Returns: `nil` if no further attempt should be made.
    package func delay(
        afterAttempt attempt: Int, error: UploadError, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard attempt < attempts else { return nil }
        // Doubling 30 times exceeds every cap and does not overflow.
        let room = min(cap, base * (1 << min(attempt - 1, 30)))
        let jitter = .nanoseconds(1) * Int64.random(in: 0...Int64(room / .nanoseconds(1)), using: &random)
        switch error.retry {
        case .never: return nil
        case .later: return jitter
        case .after(let time): return time > patience ? nil : time + jitter
        }
    }
}
