import MessageBus
import Messages
import PublisherCore

extension RequestRouter {
    /// The methods of a sensor publisher.
    init(_ engine: SamplingEngine) {
        self.init()
        on(StreamsList.self) { request in try await engine.list(request) }
        on(StreamsStart.self) { request in try await engine.start(request) }
        on(StreamsStop.self) { request in try await engine.stop(request) }
        onWithFrames(SamplesReplay.self) { request in
            let replay = try await engine.replay(request)
            // Encoded here, off the engine's thread: a large answer must not make a sample late.
            let reply = Result { () throws(RequestError) in try replay.reply() }
            await engine.endReplay()
            return try reply.get()
        }
    }
}
