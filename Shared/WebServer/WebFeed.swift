/// A body that goes on as long as the browser stays: events, as they come.
package protocol WebFeed: AnyObject, Sendable {
    /// Whether nothing waits to be sent.
    var isEmpty: Bool { get }

    /// Moves what waits to the beginning of a buffer.
    /// - Returns: how many bytes; 0 if nothing waits.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// Called once the browser has left, or was too slow.
    func end()
}
