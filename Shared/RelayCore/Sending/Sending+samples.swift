import Logging
package import MessageBus
package import Messages
import ServiceKit

/// What arrives from publishers.
extension Sending {
    /// How often a description is sent that says nothing new: its clock does.
    private static let descriptionInterval: Int64 = 30_000_000_000

    /// Whether nothing is taken at present. Publishers keep it, and are asked for it afterwards.
    package var isBlocked: Bool { isStopping || isFull || blockedUntil != .min }

    /// Takes an event.
    /// - Returns: the description that it was, if it was one.
    /// - Throws: `MessageError` or `DecodingError` for one that can't be read.
    package func take(_ frames: EventFrames, at now: Moment) throws -> StreamDescription? {
        if let stream = topics.value(of: frames.topic) {
            let body = try stream.reader.read(frames.body)
            try take(ReceivedBatch(body, frames.body, packed: frames.packed), of: stream, Array(frames.time), at: now)
        } else if frames.isIn(TopicArea.stream) {
            heard = now.monotonic
            let description = try descriptions.read(frames)
            try describe(description, frames, at: now)
            return description
        }
        return nil
    }

    /// Takes what a publisher says of a stream.
    private func describe(_ description: StreamDescription, _ frames: EventFrames, at now: Moment) throws {
        let name = description.name
        guard StreamName(name.description) == name else {
            throw MessageError(
                .malformed, "'\(name)' is not a stream's name: a device and a stream, without further slashes")
        }
        guard let stream = byName[name] ?? addStream(description, at: now) else { return }
        if description.epoch != stream.ordered.epoch {
            guard !stream.ordered.hasLeft(description.epoch) else { return }
            // What waited behind the missing samples is taken each time: a recovery ends only then.
            while stream.ordered.buffer.recovery != nil {
                lose(of: stream, .epochEnded, at: now)
                resume(stream, at: now)
            }
            stream.ordered.begin(description.epoch, at: description.first ?? 0)
            stream.isOpen = true
        }
        stream.heard = now.monotonic
        stream.ordered.replay = description.replay
        guard !isBlocked else { return passOver(description.nextSequence, of: stream) }
        send(description, of: stream, frames, at: now)
        open(stream, at: now)
        expect(description.nextSequence, of: stream)
    }

    private func addStream(_ description: StreamDescription, at now: Moment) -> SentStream? {
        guard streams.count < settings.maximumStreams else {
            isRefusing = true
            return nil
        }
        let stream = SentStream(description, held: held, at: now.monotonic)
        add(stream)
        ask(stream)
        return stream
    }

    func add(_ stream: SentStream) {
        streams.append(stream)
        byName[stream.name] = stream
        let topic = TopicArea.samples + stream.name.description
        Array(topic.utf8).withUnsafeBytes { topics.add($0, stream) }
        emit(.subscribe(topic))
    }

    /// Begins with the first sample that the publisher keeps, if nobody said within a time what the servers have.
    func open(_ stream: SentStream, at now: Moment) {
        guard !stream.isOpen, now.monotonic - stream.began > Self.patience else { return }
        stream.start(at: 0)
    }

    /// Notes that samples before one are not taken now: they are missing, also if their publisher starts anew meanwhile.
    func passOver(_ sequence: Int, of stream: SentStream) {
        guard stream.isOpen else { return }
        stream.ordered.buffer.noteUnheld(epoch: stream.ordered.epoch, upTo: sequence)
        expect(sequence, of: stream)
    }

    /// Has samples replayed that did not arrive.
    private func expect(_ sequence: Int, of stream: SentStream) {
        guard stream.isOpen else { return }
        _ = stream.ordered.buffer.expect(epoch: stream.ordered.epoch, upTo: sequence)
        resumeRecovery(of: stream)
    }

    func resumeRecovery(of stream: SentStream) {
        guard !isBlocked, stream.isOpen, !stream.isRecovering, stream.ordered.missing != nil else { return }
        stream.isRecovering = true
        emit(.recover(stream.name))
    }

    /// Sends a description that says something new, before the samples that follow it.
    private func send(_ description: StreamDescription, of stream: SentStream, _ frames: EventFrames, at now: Moment) {
        let essence = SentStream.essence(of: description)
        if let last = stream.described, last.description == essence,
            now.monotonic - last.at < Self.descriptionInterval
        {
            return
        }
        stream.described = (essence, now.monotonic)
        collect(
            RelayedEvent(
                name: stream.name, place: nil, body: Array(frames.body), packed: nil, time: Array(frames.time)),
            of: stream, at: now)
    }

    private func take(
        _ batch: ReceivedBatch, of stream: SentStream, _ time: [UInt8], at now: Moment
    ) throws(MessageError) {
        guard stream.isOpen, stream.ordered.isOfEpoch(batch) else { return }
        try check(batch)
        guard !isBlocked else { return passOver(batch.body.sequence + batch.body.count, of: stream) }
        switch stream.ordered.admit(batch) {
        case .take: collect(batch, of: stream, time, at: now)
        case .gap: resumeRecovery(of: stream)
        case .wait, .duplicate, .late: break
        }
    }

    private func check(_ batch: ReceivedBatch) throws(MessageError) {
        try batch.check { () throws(MessageError) in try batch.fields.count }
        guard batch.body.count > 0 else { throw MessageError(.outOfRange, "a batch has no samples") }
    }

    /// Adds a batch to the spool, whole as it is: who has its beginning passes over that.
    private func collect(_ batch: ReceivedBatch, of stream: SentStream, _ time: [UInt8], at now: Moment) {
        let place = BatchPlace(of: batch.body, in: batch.frame)
        samplesTaken += place.count
        stream.note(epoch: place.epoch)
        collect(
            RelayedEvent(
                name: stream.name, place: place, body: Array(batch.frame), packed: batch.packed.map { Array($0) },
                time: time),
            of: stream, at: now)
    }

    // MARK: What is missing

    package func missing(_ name: StreamName, at now: Moment) -> MissingSamples? {
        guard let stream = byName[name] else { return nil }
        if !isBlocked, stream.ordered.buffer.recovery?.missing.isEmpty == true { resume(stream, at: now) }
        let missing = isBlocked ? nil : stream.ordered.missing
        stream.isRecovering = missing != nil
        return missing
    }

    package func isHeard(_ name: StreamName, at now: Moment) -> Bool {
        byName[name].map { now.monotonic.subtractingClamped(max($0.heard, 0)) < StreamDescription.life } ?? false
    }

    package func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        guard let stream = asker(of: request) else { return }
        if count > 0 {
            // All that is thrown in there reaches the second closure.
            try? ReceivedBatch.forEach(inReplay: frames) { batch, reason in
                try check(batch)
                try stream.ordered.checkReplayed(batch)
                if let reason { lose(of: stream, before: batch.body.sequence, reason, at: now) }
                if stream.ordered.admitReplayed(batch) != nil {
                    collect(batch, of: stream, EventTime.text(of: now.date), at: now)
                }
            } unreadable: { fault in
                emit(.malformed(fault))
            }
        }
        // An answer that brings nothing would be requested without end.
        if stream.ordered.buffer.isMissing(request) {
            lose(of: stream, count > 0 ? .malformed : .notRetained, at: now)
        }
        resume(stream, at: now)
    }

    package func giveUp(_ request: SamplesReplay, reason: Gap.Reason, at now: Moment) {
        guard let stream = asker(of: request) else { return }
        lose(of: stream, reason, at: now)
        resume(stream, at: now)
    }

    private func asker(of request: SamplesReplay) -> SentStream? {
        let name = StreamName(device: request.device, stream: request.stream)
        guard !isBlocked, let stream = byName[name], stream.ordered.buffer.isMissing(request) else { return nil }
        return stream
    }

    /// Continues with what waited, once nothing before it is missing.
    private func resume(_ stream: SentStream, at now: Moment) {
        defer { stream.ordered.account() }
        while let (held, rows) = stream.ordered.buffer.takeHeld() {
            if rows.isEmpty { continue }
            do {
                try held.withBatch { collect($0, of: stream, EventTime.text(of: now.date), at: now) }
            } catch {
                emit(.malformed(error))
            }
        }
    }

    /// Gives up samples. What a stream had before the first sample that was taken of it is no loss: nothing of it was wanted.
    private func lose(of stream: SentStream, before sequence: Int? = nil, _ reason: Gap.Reason, at now: Moment) {
        guard let gap = stream.ordered.buffer.giveUp(before: sequence, reason: reason),
            stream.epochs.last == gap.epoch
        else { return }
        noteLoss(of: stream, from: gap.from, count: gap.count, reason)
    }

    func noteLoss(of stream: SentStream, from first: Int, count: Int, _ reason: Gap.Reason) {
        samplesLost = samplesLost.addingClamped(count)
        emit(.lost)
        emit(
            .log(
                .warning, "samples are lost",
                [
                    "stream": "\(stream.name)", "from": "\(first)", "count": "\(count)",
                    "reason": "\(reason.rawValue)",
                ]))
    }
}
