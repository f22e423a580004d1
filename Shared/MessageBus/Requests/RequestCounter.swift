import Synchronization

/// How many requests of a kind there were. It knows nobody, so that who shows it does not hold the program.
public final class RequestCounter: Sendable {
    private let number = Atomic<Int>(0)

    /// So many, so far.
    public var count: Int { number.load(ordering: .relaxed) }

    func countOne() { number.add(1, ordering: .relaxed) }
}
