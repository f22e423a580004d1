import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What arrives: batches of samples and descriptions of streams.
extension RecordingEngine {
    /// Topics and streams that are remembered: a stranger could publish under ever new names.
    static let maximumNames = 4_096

    /// Takes what was received, writes it, and says what is missing.
    func take(_ batch: MessageBatch) {
        guard !batch.isEmpty else { return }
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let frames = try EventFrames(message, of: messages)
                    if let route = route(of: frames) {
                        try takeSamples(frames, route)
                    } else if frames.isIn(TopicArea.stream) {
                        let description = try frames.decode(StreamDescription.self)
                        if let origin = messages.origin(of: message) {
                            publishers.note(description.replay, heardFrom: origin)
                        }
                        take(description)
                    }
                } catch {
                    malformed.note(error)
                }
            }
        }
        for session in sessions.values where session.isRecording {
            do {
                for name in session.order { try session.streams[name]?.log.flush() }
            } catch {
                fail(session, error)
            }
        }
    }

    private func takeSamples(_ frames: EventFrames, _ route: Int) throws {
        guard !routes[route].recordings.isEmpty else { return }
        let batch = ReceivedBatch(try routes[route].reader.read(frames.body), frames.body, packed: frames.packed)
        let published = EventTime.time(in: frames.time)?.nanosecondsSince1970
        for (session, stream) in routes[route].recordings where session.isRecording {
            do {
                let outcome = try stream.take(batch, timeline: session.timeline)
                switch outcome {
                case .written: if let published, published > 0 { session.noteWritten(published: published) }
                case .recover: recover(stream, of: session)
                case .nothing: break
                }
                if stream.hasNewGaps { announceGaps(of: stream, in: session) }
            } catch let error as MessageError {
                malformed.note(error)
            } catch {
                fail(session, error)
            }
        }
    }

    /// Where a batch of samples goes, as an index into `routes`; nil for other events. Publishers take turns, so the
    /// one after the last is looked at right after the last itself.
    private func route(of frames: EventFrames) -> Int? {
        let topic = frames.topic
        for offset in 0..<routes.count {
            let index = (lastRoute + offset) % routes.count
            if topic.isSame(as: routes[index].topic) {
                lastRoute = index
                return index
            }
        }
        guard frames.isIn(TopicArea.samples) else { return nil }
        if routes.count >= Self.maximumNames { routes = [] }
        let name = StreamName(String(decoding: topic.dropFirst(TopicArea.samples.utf8.count), as: UTF8.self))
        routes.append(
            Route(
                topic: Array(topic),
                recordings: sessions.values.filter(\.isRecording).compactMap { session in
                    name.flatMap { session.streams[$0] }.map { (session, $0) }
                }))
        lastRoute = routes.count - 1
        return lastRoute
    }

    func take(_ description: StreamDescription) {
        // Those that are still there describe themselves again within a second.
        if described.count >= Self.maximumNames { described = [:] }
        described[StreamSource(name: description.name, replay: description.replay)] = MonotonicClock.now
        let isConfigured = isConfigured(description.name)
        for session in sessions.values where session.status == .running && session.wants(description.name) {
            if !isConfigured, session.streams[description.name] == nil {
                if waiting.count < Self.maximumNames { waiting[description.name] = (description, MonotonicClock.now) }
                continue
            }
            guard let stream = stream(for: description, from: nil, in: session) else { continue }
            if stream.hasNewGaps { announceGaps(of: stream, in: session) }
            if stream.intake.expect(epoch: description.epoch, upTo: description.nextSequence) {
                recover(stream, of: session)
            }
        }
    }

    /// The recording of a stream that a publisher describes; nil where it can't be opened.
    ///
    /// A stream that was not there when the session started gets its log now. All of its epoch belongs to the session,
    /// except what was sampled before the start.
    /// - Parameter first: the first sample that belongs to the session, where it starts with this.
    func stream(
        for description: StreamDescription, from first: Int?, in session: Session
    ) -> StreamRecording? {
        do {
            if let stream = session.streams[description.name] {
                try stream.meet(description, from: first, timeline: session.timeline)
                return stream
            }
            if session.hasClosed(description.name) { return nil }
            // Those that the session starts with were checked and stored together.
            if session.status > .starting {
                try StreamRecording.check(description, startDate: session.record.startDate)
                try session.files.store.write(plan([description], of: session))
            }
            let stream = try session.open(description, from: first)
            routes = []
            return stream
        } catch let error as MessageError {
            malformed.note(error)
        } catch {
            fail(session, error)
        }
        return nil
    }
}
