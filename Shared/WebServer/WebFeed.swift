/// A response body that continues as long as the browser stays: events, as they occur.
package protocol WebFeed: AnyObject, Sendable {
    var isEmpty: Bool { get }

    /// Moves the waiting bytes to the beginning of a buffer.
    /// - Returns: how many bytes; 0 if nothing waits.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// Called when the browser has left, or was too slow.
    func end()
}
