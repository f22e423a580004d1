import MessageBus
import Messages

/// A stream that is counted, as its missing samples are asked for.
struct CountedStream: RecoveringStream {
    let engine: StepEngine
    let name: StreamName

    func missing() async -> MissingSamples? { await engine.missing(name) }

    func isHeard() async -> Bool { await engine.isHeard(name) }

    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) async -> Bool {
        await engine.take(reply, frames, for: request)
        return true
    }

    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) async -> Bool {
        await engine.giveUp(request, reason: reason)
        return true
    }
}
