package import Messages

/// A stream whose missing samples are asked for again: `Publishers.recover` asks it what is missing, and hands it the answers.
///
/// While an answer is awaited everything may change, so it counts only if what it answers is still what is missing next.
package protocol RecoveringStream: Sendable {
    /// What is to be asked next; nil when nothing is missing, which ends the recovery. A program that is behind with what
    /// arrives live holds its recoveries back here.
    func missing() async throws -> MissingSamples?
    /// Whether samples or descriptions of it arrive, from whomever. While none do, a publisher that does not answer may
    /// be cut off, and nothing waits for what is missing.
    func isHeard() async -> Bool
    /// Takes the answer to a request. One that brings nothing new must be taken for the last word: what was asked for is
    /// given up, or it would be asked for without end.
    /// - Returns: false if nothing is missing any more, which ends the recovery; true has `missing` decide.
    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) async -> Bool
    /// Gives up what a request asked for.
    /// - Returns: as `take`.
    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) async -> Bool
    /// Notes that a publisher answered, and that it is to be asked again: it can't give the samples yet.
    func putOff() async
}

extension RecoveringStream {
    package func putOff() {}
}

/// A request for missing samples, with where to send it.
package struct MissingSamples: Sendable {
    /// What is asked.
    package let request: SamplesReplay
    /// The publisher's REP endpoint.
    package let endpoint: String

    package init(_ request: SamplesReplay, at endpoint: String) {
        self.request = request
        self.endpoint = endpoint
    }

    /// Asks a publisher for what a recovery misses.
    package init(_ recovery: ReorderBuffer.Recovery, of stream: StreamName, at endpoint: String) {
        request = SamplesReplay(
            device: stream.device, stream: stream.stream, epoch: recovery.epoch, from: recovery.missing.lowerBound,
            count: recovery.missing.count)
        self.endpoint = endpoint
    }
}
