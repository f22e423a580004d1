import Synchronization
import ZeroMQ

/// The bytes a second that all uploads together may send.
final class BandwidthLimit: Sendable {
    private let bucket: Mutex<TokenBucket>

    /// So many bytes a second.
    init(bytesPerSecond: Int) {
        bucket = Mutex(TokenBucket(rate: bytesPerSecond, at: MonotonicClock.now))
    }

    /// Takes what may be sent now.
    /// - Returns: how many bytes, and, where none, how many nanoseconds to wait before asking again.
    func take(upTo wanted: Int) -> (bytes: Int, wait: Int64) {
        bucket.withLock { $0.take(upTo: wanted, at: MonotonicClock.now) }
    }
}
