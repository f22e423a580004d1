package import MessageBus
package import Messages

/// A core that hears what publishers say: samples, and descriptions of their streams.
package protocol ListeningCore: ProgramCore {
    /// Takes an event of a publisher.
    /// - Returns: the description that it was, if it was one.
    /// - Throws: `MessageError` or `DecodingError` for one that can't be read.
    func take(_ frames: EventFrames, at now: Moment) throws -> StreamDescription?
}

/// A core whose streams have missing samples replayed, each one request after the other.
package protocol RecoveringCore: ListeningCore {
    /// What a stream's publisher is to replay next; nil if nothing is missing, which ends the recovery.
    func missing(_ name: StreamName, at now: Moment) -> MissingSamples?

    /// Whether a stream's publisher is running and reachable.
    func isHeard(_ name: StreamName, at now: Moment) -> Bool

    /// Takes the answer to a request for missing samples.
    /// - Parameter count: how many samples the frames hold, by the answer.
    func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment)

    /// Gives up what a request asked for.
    func giveUp(_ request: SamplesReplay, reason: Gap.Reason, at now: Moment)
}
