package import MessageBus
package import Messages
package import Recording
import ServiceKit

/// Recovers missing samples: requests their replay from the publisher until they arrive or are given up.
///
/// While an answer is awaited, everything may change: samples are given up because too many wait behind them, or the session
/// ends. So an answer counts only if its samples are still the next ones missing.
extension Recordings {
    /// Begins to recover a stream's missing samples, if there are any, unless a recovery is under way or a description must come
    /// first.
    func recover(_ stream: StreamRecording, of session: Session, at now: Moment) {
        guard stream.intake.recovery != nil, stream.recoveringSince == nil,
            !isAwaitingPlace(stream, of: session, at: now)
        else { return }
        stream.recoveringSince = now.monotonic
        emit(.recover(session.identifier, stream.name))
    }

    /// A stopped session has asked its publishers for descriptions already.
    private func isAwaitingPlace(_ stream: StreamRecording, of session: Session, at now: Moment) -> Bool {
        session.status == .running && stream.isAwaitingPlace(at: now.monotonic)
    }

    /// The samples to request next for a stream; nil when nothing is missing or a description must come first, which ends the
    /// recovery.
    package func missing(_ name: StreamName, in identifier: SessionIdentifier, at now: Moment) -> MissingSamples? {
        guard let session = sessions[identifier], let stream = session.streams[name] else { return nil }
        // The end of the session may have left nothing to recover.
        if stream.intake.recovery?.missing.isEmpty == true { _ = resume(stream, of: session, at: now) }
        guard session.isRecording, let recovery = stream.intake.recovery,
            !isAwaitingPlace(stream, of: session, at: now)
        else {
            stream.recoveringSince = nil
            return nil
        }
        return MissingSamples(recovery, of: name, at: stream.replayEndpoint(of: recovery.epoch))
    }

    package func heardSince(_ name: StreamName, at now: Moment) -> Int64? {
        described[name]?.values.compactMap { $0.since(at: now.monotonic) }.min()
    }

    /// The addresses of the publishers that now have streams matching these patterns.
    package func sources(of patterns: Set<String>, at now: Moment) -> Set<String> {
        let oldest = now.monotonic - StreamDescription.life
        var sources: Set<String> = []
        for (name, places) in described where name.matches(anyOf: patterns) {
            for (place, heard) in places where heard.last >= oldest { sources.insert(place) }
        }
        return sources
    }

    /// Takes a publisher's answer.
    /// - Parameter count: how many samples the frames hold, according to the publisher.
    /// - Returns: false if nothing is missing any more, which ends the recovery.
    package func take(
        _ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, in identifier: SessionIdentifier,
        at now: Moment
    ) -> Bool {
        guard let (session, stream) = asker(of: request, in: identifier) else { return true }
        return resume(stream, of: session, at: now) {
            if count > 0 { try stream.takeReplayed(frames, at: now) }
            // Samples that an answer does not bring would be requested again without end.
            guard stream.intake.isMissing(request) else { return }
            if count > 0 { try stream.giveUp(.malformed, at: now) } else { try stream.takeNothing(at: now) }
        }
    }

    /// Gives up the requested samples.
    /// - Returns: false if nothing is missing any more, which ends the recovery.
    package func giveUp(
        _ request: SamplesReplay, reason: Gap.Reason, in identifier: SessionIdentifier, at now: Moment
    ) -> Bool {
        guard let (session, stream) = asker(of: request, in: identifier) else { return true }
        return resume(stream, of: session, at: now) { try stream.giveUp(reason, at: now) }
    }

    /// Notes that a publisher answers but can't deliver a session's missing samples yet. A session that is being stopped then waits
    /// longer.
    package func putOff(in identifier: SessionIdentifier) { delay(identifier) { _ in } }

    /// Notes that a part of a reply with a session's missing samples has arrived, or of one before it. A session that is being
    /// stopped then waits longer.
    package func noteArrival(in identifier: SessionIdentifier, at now: Moment) {
        delay(identifier) { $0.extendDelay(at: now) }
    }

    private func delay(_ identifier: SessionIdentifier, _ change: (inout Settling) -> Void) {
        guard case .settling(var settling) = endings[identifier] else { return }
        settling.isPutOff = true
        change(&settling)
        endings[identifier] = .settling(settling)
    }

    /// The session and stream that a request was made for, if the requested samples are still the next ones missing.
    private func asker(
        of request: SamplesReplay, in identifier: SessionIdentifier
    ) -> (session: Session, stream: StreamRecording)? {
        let name = StreamName(device: request.device, stream: request.stream)
        guard let session = sessions[identifier], session.isRecording, let stream = session.streams[name],
            stream.intake.isMissing(request)
        else { return nil }
        return (session, stream)
    }

    /// Continues with the samples that waited for a recovery. If these end at another gap, that gap is recovered next.
    /// - Returns: false if nothing is missing any more.
    private func resume(
        _ stream: StreamRecording, of session: Session, at now: Moment, after body: () throws -> Void = {}
    ) -> Bool {
        do {
            try body()
            try stream.resume(at: now)
            // Samples missing at the end of a stopped session come after those that were missing before.
            if session.status == .waitingToStop { _ = stream.intake.expectEnd() }
        } catch {
            fail(session, error, at: now)
        }
        announceGaps(of: stream, in: session, at: now)
        let isOver = stream.intake.recovery == nil
        if isOver { stream.recoveringSince = nil }
        advance(at: now)
        return !isOver
    }
}
