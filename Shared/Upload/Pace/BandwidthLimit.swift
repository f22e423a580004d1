import Synchronization
import ZeroMQ

/// A limit on the total bandwidth of all uploads.
final class BandwidthLimit: Sendable {
    private let bucket: Mutex<TokenBucket>

    init(bytesPerSecond: Int) {
        bucket = Mutex(TokenBucket(rate: bytesPerSecond, at: MonotonicClock.now))
    }

    /// Takes an allowance of bytes.
    /// - Returns: the number of bytes; if it is 0, also the nanoseconds to wait before the next call.
    func take(upTo wanted: Int) -> (bytes: Int, wait: Int64) {
        bucket.withLock { $0.take(upTo: wanted, at: MonotonicClock.now) }
    }
}
