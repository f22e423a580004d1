import Synchronization

/// A thread-safe counter that starts at 0.
final class Counter: Sendable {
    private let count = Mutex(0)

    /// The number of calls of `next`.
    var value: Int { count.withLock { $0 } }

    func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}
