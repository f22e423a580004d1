import MessageBus
import Messages
import Runtime
import StepCounterCore
import ZeroMQ

/// A stream that is counted, as its missing samples are replayed.
struct CountedStream: RecoveringStream {
    let engine: StepEngine
    let name: StreamName

    func missing() async -> MissingSamples? { await engine.missing(name) }

    func isHeard() async -> Bool { await engine.isHeard(name) }

    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) async -> Bool {
        await engine.take(frames, count: reply.count, for: request)
        return true
    }

    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) async -> Bool {
        await engine.giveUp(request, reason: reason)
        return true
    }
}

extension StepEngine {
    fileprivate func missing(_ name: StreamName) -> MissingSamples? {
        defer { perform() }
        return core.missing(name, at: now)
    }

    fileprivate func isHeard(_ name: StreamName) -> Bool { core.isHeard(name, at: now) }

    fileprivate func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay) {
        core.take(frames, count: count, for: request, at: now)
        perform()
    }

    fileprivate func giveUp(_ request: SamplesReplay, reason: Gap.Reason) {
        core.giveUp(request, reason: reason, at: now)
        perform()
    }
}
