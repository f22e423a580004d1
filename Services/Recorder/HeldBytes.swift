/// How much waits in memory, in all streams together, for samples before it. Confined to the recording engine's thread.
final class HeldBytes {
    /// How much may wait. What arrives then is asked for later, when there is room again.
    let limit: Int
    var bytes = 0

    init(limit: Int) { self.limit = limit }
}
