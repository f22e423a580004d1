import Glibc
import Synchronization

/// Controls an upload's thread: whether it continues, and how much it may send.
final class UploadThrottle: Sendable {
    private let limit: BandwidthLimit?
    private let cancelled = Atomic(false)
    private let allowed = Atomic(0)

    /// The longest wait, in nanoseconds, before cancellation is checked again.
    private static let longestWait: Int64 = 50_000_000

    init(limit: BandwidthLimit? = nil) {
        self.limit = limit
    }

    /// Ends the upload at its next step. Safe on any thread.
    func cancel() { cancelled.store(true, ordering: .relaxed) }

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// The number of bytes allowed so far.
    var sentBytes: Int { allowed.load(ordering: .relaxed) }

    /// Takes an allowance of at most the wanted number of bytes. Blocks the calling thread until there is one.
    /// - Returns: 0 if the upload is cancelled.
    func allowance(upTo wanted: Int) -> Int {
        while !isCancelled {
            let (bytes, wait) = limit?.take(upTo: wanted) ?? (wanted, 0)
            if bytes > 0 {
                allowed.add(bytes, ordering: .relaxed)
                return bytes
            }
            var time = timespec(tv_sec: 0, tv_nsec: Int(min(wait, Self.longestWait)))
            nanosleep(&time, nil)
        }
        return 0
    }
}
