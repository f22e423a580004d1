import Synchronization

/// Whether a session of this run ended with loss: raised by the engine, read when the program exits.
final class LossFlag: Sendable {
    private let value = Atomic(false)

    var isThere: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
