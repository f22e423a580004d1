/// How much waits in memory, in all streams together, for samples before it. Confined to the recording engine's thread.
package final class HeldBytes {
    /// How much may wait. What arrives then is asked for later, when there is room again.
    package let limit: Int
    package var bytes = 0

    package init(limit: Int) { self.limit = limit }
}
