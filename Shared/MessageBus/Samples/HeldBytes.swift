/// How much waits in memory for samples before it, in all streams together. Confined to one thread.
package final class HeldBytes {
    /// What arrives beyond it is replayed later, when there is room again.
    package let limit: Int
    package private(set) var bytes = 0

    package init(limit: Int) { self.limit = limit }

    package var hasRoom: Bool { bytes < limit }

    /// Counts what a stream holds in place of what was counted of it before.
    package func account(for buffer: ReorderBuffer, _ counted: inout Int) {
        bytes += buffer.heldBytes - counted
        counted = buffer.heldBytes
    }
}
