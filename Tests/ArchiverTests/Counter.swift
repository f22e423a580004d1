import Synchronization

/// Counts from 0, from any thread.
final class Counter: Sendable {
    private let count = Mutex(0)

    /// How often `next` was called.
    var value: Int { count.withLock { $0 } }

    func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}
