import MessageBus
import Messages
import Recording

/// A stream of a session, as its missing samples are asked for.
struct SessionStream: RecoveringStream {
    let engine: RecordingEngine
    let session: SessionIdentifier
    let stream: StreamName

    func missing() async throws -> MissingSamples? { try await engine.missing(stream, in: session) }

    func isHeard() async -> Bool { await engine.isHeard(stream) }

    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) async -> Bool {
        await engine.take(reply, frames, for: request, in: session)
    }

    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) async -> Bool {
        await engine.giveUp(request, reason: reason, in: session)
    }
}
