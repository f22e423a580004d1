import MessageBus
import Messages

extension RequestRouter {
    /// The methods of a sensor publisher.
    init(_ engine: SamplingEngine) {
        self.init()
        on(StreamsList.self) { request in try await engine.list(request) }
        on(StreamsStart.self) { request in try await engine.start(request) }
        on(StreamsStop.self) { request in try await engine.stop(request) }
        let replays = ReplaySlots()
        onWithFrames(SamplesReplay.self) { request in
            // Encoded here, off the engine's thread: a large answer must not make a sample late.
            try await replays.withSlot {
                if let ranges = request.ranges, !ranges.isEmpty {
                    return SamplesReplay.reply(try await engine.retained(ranges), to: ranges)
                }
                return try await engine.retained(SamplesReplay.Range(request)).reply
            }
        }
    }
}
