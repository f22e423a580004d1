import Glibc
import Synchronization

/// What an upload's thread asks before it moves more: whether to continue at all, and how much may be sent now.
final class UploadThrottle: Sendable {
    private let limit: BandwidthLimit?
    private let cancelled = Atomic(false)
    private let allowed = Atomic(0)

    /// The longest that a cancelled upload keeps waiting for its turn.
    private static let longestWait: Int64 = 50_000_000

    /// A pace under a limit, or as fast as it goes.
    init(limit: BandwidthLimit? = nil) {
        self.limit = limit
    }

    /// Ends the upload at its next step. Any thread.
    func cancel() { cancelled.store(true, ordering: .relaxed) }

    /// Whether the upload is to end.
    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// How many bytes could be sent so far.
    var sentBytes: Int { allowed.load(ordering: .relaxed) }

    /// How many of so many bytes may be sent now. Waits on the thread that calls until there are some.
    /// - Returns: 0 where the upload is cancelled.
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
