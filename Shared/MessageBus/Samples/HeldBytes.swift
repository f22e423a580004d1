/// Counts the bytes that are held back in memory behind missing samples, in all streams together. Confined to one thread.
package final class HeldBytes {
    /// In bytes. Batches that arrive beyond it are replayed later, when there is room again.
    package let limit: Int
    package private(set) var bytes = 0

    package init(limit: Int) { self.limit = limit }

    package var hasRoom: Bool { bytes < limit }

    /// Updates the count for one stream, in place of its previous count.
    package func account(for buffer: ReorderBuffer, _ counted: inout Int) {
        bytes += buffer.heldBytes - counted
        counted = buffer.heldBytes
    }
}
