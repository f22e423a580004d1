import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import ZeroMQ

/// What is missing: asked for again from the publisher, until it is had or given up.
///
/// While an answer is awaited everything may change: samples are given up because too many wait behind them, or the
/// session ends. So an answer counts only if what it answers is still what is missing next.
extension RecordingEngine {
    /// Has a stream's missing samples asked for, unless that is under way.
    func recover(_ stream: StreamRecording, of session: Session, at now: Moment) {
        guard stream.recoveringSince == nil else { return }
        stream.recoveringSince = now.monotonic
        ordering.yield(.recover(session: session.identifier, stream: stream.name))
    }

    /// What is to be asked next for a stream, once the recorder has caught up with what arrives live; nil when nothing is
    /// missing, which ends the recovery.
    func missing(_ name: StreamName, in identifier: SessionIdentifier) async throws -> MissingSamples? {
        try await waitUntilCaughtUp(in: identifier)
        guard let session = sessions[identifier], let stream = session.streams[name] else { return nil }
        // The end of the session may have left nothing of it.
        if stream.intake.recovery?.missing.isEmpty == true { resume(stream, of: session) }
        guard session.isRecording, let recovery = stream.intake.recovery else {
            stream.recoveringSince = nil
            return nil
        }
        return MissingSamples(recovery, of: name, at: stream.replayEndpoint(of: recovery.epoch))
    }

    func isHeard(_ name: StreamName) -> Bool {
        let oldest = MonotonicClock.now - Self.descriptionLife.nanoseconds
        return described[name]?.values.contains { $0 >= oldest } ?? false
    }

    func take(
        _ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay,
        in identifier: SessionIdentifier
    ) -> Bool {
        guard let (session, stream) = asker(of: request, in: identifier) else { return true }
        return resume(stream, of: session) {
            if reply.count > 0 { try stream.takeReplayed(frames, at: $0) }
            guard let missing = stream.intake.recovery?.missing, missing.lowerBound == request.from else { return }
            // An answer that brings nothing would be asked for without end.
            try stream.giveUp(reply.count > 0 ? .malformed : .notRetained, at: $0)
        }
    }

    func giveUp(_ request: SamplesReplay, reason: Gap.Reason, in identifier: SessionIdentifier) -> Bool {
        guard let (session, stream) = asker(of: request, in: identifier) else { return true }
        return resume(stream, of: session) { try stream.giveUp(reason, at: $0) }
    }

    /// Whose missing samples a request asks for, if it is what must be had next.
    private func asker(
        of request: SamplesReplay, in identifier: SessionIdentifier
    ) -> (session: Session, stream: StreamRecording)? {
        let name = StreamName(device: request.device, stream: request.stream)
        guard let session = sessions[identifier], session.isRecording, let stream = session.streams[name],
            let recovery = stream.intake.recovery, recovery.epoch == request.epoch,
            recovery.missing.lowerBound == request.from
        else { return nil }
        return (session, stream)
    }

    /// Continues with what waited for a recovery. If it meets another gap, that is missing next.
    /// - Returns: false if nothing is missing any more, which ends the recovery.
    @discardableResult
    private func resume(
        _ stream: StreamRecording, of session: Session, after body: (Moment) throws -> Void = { _ in }
    ) -> Bool {
        let now = Moment.now
        do {
            try body(now)
            try stream.resume(at: now)
            // What is missing at the end of a session that is stopped comes after what was missing before.
            if session.status == .waitingToStop { _ = stream.intake.expectEnd() }
        } catch {
            fail(session, error)
        }
        announceGaps(of: stream, in: session)
        uncommitted.raise()
        let isOver = stream.intake.recovery == nil
        if isOver { stream.recoveringSince = nil }
        resumeWaits()
        return !isOver
    }
}
