package import MessageBus
package import Messages

/// A core that receives publishers' samples and descriptions of streams.
package protocol ListeningCore: ProgramCore {
    /// Takes an event of a publisher.
    /// - Returns: the description, if the event was one.
    /// - Throws: `MessageError` or `DecodingError` for an event that can't be read.
    func take(_ frames: EventFrames, at now: Moment) throws -> StreamDescription?
}

/// A core that replays its streams' missing samples, with one request at a time for each stream.
package protocol RecoveringCore: ListeningCore {
    /// The next samples that a stream's publisher is to replay; nil if none are missing, which ends the recovery.
    func missing(_ name: StreamName, at now: Moment) -> MissingSamples?

    /// Since when a stream's publisher is running and reachable, on the monotonic clock; nil if it is not. Only this time counts
    /// until requests are given up.
    func heardSince(_ name: StreamName, at now: Moment) -> Int64?

    /// Takes the reply to a request for missing samples.
    /// - Parameter count: the number of samples in the frames, according to the reply.
    func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment)

    func giveUp(_ request: SamplesReplay, reason: Gap.Reason, at now: Moment)
}
