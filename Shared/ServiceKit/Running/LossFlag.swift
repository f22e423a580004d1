import Synchronization

/// Whether something was lost in this run: raised by a program's engine, read when the program exits.
package final class LossFlag: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isRaised: Bool { value.load(ordering: .acquiring) }

    package func raise() { value.store(true, ordering: .releasing) }
}
