import MessageBus
import Messages

extension RequestRouter {
    /// The methods of a sensor publisher.
    init(_ engine: SamplingEngine) {
        self.init()
        on(StreamsList.self) { _ in try await engine.list() }
        on(StreamsStart.self) { request in try await engine.start(request) }
        on(StreamsStop.self) { request in try await engine.stop(request) }
        onWithFrames(SamplesReplay.self) { request in
            let retained = try await engine.retained(request)
            // Encoded here, off the engine's thread: a large answer must not make a sample late.
            return (
                SamplesReplay.Reply(retained.answer), retained.answer.frames(retained.encoder, clock: retained.clock)
            )
        }
    }
}
