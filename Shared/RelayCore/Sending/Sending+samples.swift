import Logging
package import MessageBus
package import Messages
import ServiceKit

/// Receiving events from publishers.
extension Sending {
    /// How often an unchanged description is sent, for its clock reading. In nanoseconds.
    private static let descriptionInterval: Int64 = 30_000_000_000

    /// Whether nothing is taken at present. Publishers keep the samples, which are replayed later.
    package var isBlocked: Bool { isStopping || isFull || isBehind || blockedUntil != .min }

    /// Takes an event from a publisher.
    /// - Returns: the description, if the event is one.
    /// - Throws: `MessageError` or `DecodingError` for an event that cannot be read.
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

    /// Takes a publisher's description of a stream.
    private func describe(_ description: StreamDescription, _ frames: EventFrames, at now: Moment) throws {
        let name = description.name
        guard StreamName(name.description) == name else {
            throw MessageError(
                .malformed, "'\(name)' is not a stream's name: a device and a stream, without further slashes")
        }
        guard let stream = byName[name] ?? addStream(description, at: now) else { return }
        if description.epoch != stream.ordered.epoch {
            guard !stream.ordered.hasLeft(description.epoch) else { return }
            // Held samples are taken after each loss; only that ends the recovery.
            while stream.ordered.buffer.recovery != nil {
                lose(of: stream, .epochEnded, at: now)
                resume(stream, at: now)
            }
            stream.ordered.begin(description.epoch, at: description.first ?? 0)
            stream.isOpen = true
        }
        stream.heard.note(at: now.monotonic)
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

    /// If the servers' content is not known within `patience`, begins with the first sample that the publisher keeps.
    func open(_ stream: SentStream, at now: Moment) {
        guard !stream.isOpen, now.monotonic - stream.began > Self.patience else { return }
        stream.start(at: 0)
    }

    /// Marks the samples before `sequence` as missing, because they are not taken now. They stay missing if their publisher
    /// restarts.
    func passOver(_ sequence: Int, of stream: SentStream) {
        guard stream.isOpen else { return }
        stream.ordered.buffer.noteUnheld(epoch: stream.ordered.epoch, upTo: sequence)
        expect(sequence, of: stream)
    }

    /// Requests a replay of samples that did not arrive.
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

    /// Sends a changed description before the samples that follow it.
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

    /// Adds a complete batch to the spool. Readers skip samples that they already have.
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

    // MARK: Missing samples

    package func missing(_ name: StreamName, at now: Moment) -> MissingSamples? {
        guard let stream = byName[name] else { return nil }
        if !isBlocked, stream.ordered.buffer.recovery?.missing.isEmpty == true { resume(stream, at: now) }
        let missing = isBlocked ? nil : stream.ordered.missing
        stream.isRecovering = missing != nil
        return missing
    }

    package func heardSince(_ name: StreamName, at now: Moment) -> Int64? {
        byName[name]?.heard.since(at: now.monotonic)
    }

    package func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        guard let stream = asker(of: request) else { return }
        if count > 0 {
            // All errors thrown in this closure reach the second closure.
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
        // A reply without progress would be requested again without end.
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

    /// Takes held samples when nothing before them is missing.
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

    /// Gives up missing samples. Samples before the first one taken from the stream do not count as lost: they were not wanted.
    private func lose(of stream: SentStream, before sequence: Int? = nil, _ reason: Gap.Reason, at now: Moment) {
        guard let gap = stream.ordered.buffer.giveUp(before: sequence, reason: reason),
            !stream.epochs.isEmpty
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
