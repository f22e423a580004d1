package import Messages

/// A stream whose missing samples are replayed: `Publishers.recover` asks it for the next missing samples, and gives it the
/// replies.
///
/// Everything may change while a reply is awaited, so a reply counts only if its samples are still the next missing ones.
package protocol RecoveringStream: Sendable {
    /// The samples to request next; nil if none are missing, which ends the recovery. A program that is behind with live
    /// samples delays its recoveries here.
    func missing() async throws -> MissingSamples?
    /// Since when any publisher describes the stream without a break; nil if none does. Then the publisher may be disconnected,
    /// and nothing waits for the missing samples.
    func heardSince() async -> Int64?
    /// Takes the reply to a request. If it brings nothing new, the stream must give up the requested samples; otherwise they
    /// would be requested forever.
    /// - Returns: false if nothing is missing any more, which ends the recovery; true to call `missing` again.
    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) async -> Bool
    /// Gives up the requested samples.
    /// - Returns: the same as `take`.
    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) async -> Bool
    /// Records that the samples take longer: the publisher answered but can't send them yet, or this program has no room for a
    /// connection.
    func putOff() async
    /// Records that a part of a reply has arrived, and that the samples are in it or come after it.
    func noteArrival() async
}

extension RecoveringStream {
    package func putOff() {}
    package func noteArrival() {}
}

/// A request for missing samples, and the endpoint to send it to.
package struct MissingSamples: Sendable {
    package let request: SamplesReplay
    /// The publisher's REP endpoint.
    package let endpoint: String

    package init(_ request: SamplesReplay, at endpoint: String) {
        self.request = request
        self.endpoint = endpoint
    }

    /// Creates the request for a recovery's missing samples.
    package init(_ recovery: ReorderBuffer.Recovery, of stream: StreamName, at endpoint: String) {
        request = SamplesReplay(
            device: stream.device, stream: stream.stream, epoch: recovery.epoch, from: recovery.missing.lowerBound,
            count: recovery.missing.count)
        self.endpoint = endpoint
    }
}
