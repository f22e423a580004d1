package import Messages

/// Answers requests for samples, as a publisher or a relay does.
package protocol SampleReplies: Sendable {
    /// Asks once.
    /// - Throws: `RequestError` if the request is refused, `MessageError` if the answer can't be read, anything else if there is
    ///   none.
    func answer(_ request: SamplesReplay) async throws -> (reply: SamplesReplay.Reply, frames: ArraySlice<[UInt8]>)

    /// Waits before a request is repeated.
    func pause(seconds: Double) async throws
}
