package import Messages

/// Replies to requests for samples, by a publisher or a relay.
package protocol SampleReplies: Sendable {
    /// Sends a request once.
    /// - Throws: `RequestError` if the request is refused, `MessageError` if the reply cannot be read, other errors if there is
    ///   none.
    func answer(_ request: SamplesReplay) async throws -> (reply: SamplesReplay.Reply, frames: ArraySlice<[UInt8]>)

    /// Waits before a request is repeated.
    func pause(seconds: Double) async throws
}
