import MessageBus
import Messages
import PublisherCore

extension RequestRouter {
    init(_ engine: SamplingEngine) {
        self.init()
        on(StreamsList.self) { request in try await engine.list(request) }
        on(StreamsStart.self) { request in try await engine.start(request) }
        on(StreamsStop.self) { request in try await engine.stop(request) }
        on(PhonesLink.self) { _ in
            guard let server = engine.server else {
                throw RequestError(.notRunning, "phones can't push: start sensor-publisher with --listen-http")
            }
            let rows = QRCode(server.phoneLink)?.rows ?? []
            return PhonesLink.Reply(
                link: server.phoneLink, code: rows.map { String(decoding: $0.map { $0 ? 0x31 : 0x30 }, as: UTF8.self) })
        }
        onWithFrames(SamplesReplay.self) { request in
            let replay = try await engine.replay(request)
            // Encoded here, off the engine's thread: a large reply must not delay samples.
            let reply = Result { () throws(RequestError) in try replay.reply() }
            await engine.endReplay()
            return try reply.get()
        }
    }
}
