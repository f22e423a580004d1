import MessageBus
import Messages
import RecorderCore
import Recording
import Runtime
import ServiceKit
import ZeroMQ

/// A stream of a session, as seen by the recovery of its missing samples.
struct SessionStream: RecoveringStream {
    let engine: RecordingEngine
    let session: SessionIdentifier
    let stream: StreamName

    func missing() async throws -> MissingSamples? { try await engine.missing(stream, in: session) }

    func heardSince() async -> Int64? { await engine.heardSince(stream) }

    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) async -> Bool {
        await engine.take(reply, frames, for: request, in: session)
    }

    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) async -> Bool {
        await engine.giveUp(request, reason: reason, in: session)
    }

    func putOff() async { await engine.putOff(in: session) }

    func noteArrival() async { await engine.noteArrival(in: session) }
}

extension RecordingEngine {
    /// The samples to request next for a stream, once the recorder has caught up with live samples, or `longestWait` has passed.
    /// All recoveries of a session wait together, because each arriving batch checks their condition.
    fileprivate func missing(_ name: StreamName, in session: SessionIdentifier) async throws -> MissingSamples? {
        try await wait(until: now.monotonic + Recordings.longestWait, together: session) { [core] in
            !core.isTooBusy(toRecover: session)
        }
        defer { perform() }
        return core.missing(name, in: session, at: now)
    }

    fileprivate func take(
        _ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay,
        in session: SessionIdentifier
    ) -> Bool {
        defer { perform() }
        return core.take(frames, count: reply.count, for: request, in: session, at: now)
    }

    fileprivate func giveUp(_ request: SamplesReplay, reason: Gap.Reason, in session: SessionIdentifier) -> Bool {
        defer { perform() }
        return core.giveUp(request, reason: reason, in: session, at: now)
    }

    fileprivate func putOff(in session: SessionIdentifier) { core.putOff(in: session) }

    fileprivate func noteArrival(in session: SessionIdentifier) { core.noteArrival(in: session, at: now) }

    fileprivate func heardSince(_ name: StreamName) -> Int64? { core.heardSince(name, at: now) }
}
