import Synchronization

/// Counts requests of one kind. It references nothing, so that code that displays it does not keep the program alive.
public final class RequestCounter: Sendable {
    private let number = Atomic<Int>(0)

    /// The number of requests so far.
    public var count: Int { number.load(ordering: .relaxed) }

    func countOne() { number.add(1, ordering: .relaxed) }
}
