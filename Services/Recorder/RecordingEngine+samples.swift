import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import ZeroMQ

/// What arrives: batches of samples and descriptions of streams.
extension RecordingEngine {
    /// Topics and streams that are remembered: a stranger could publish under ever new names.
    static let maximumNames = 16_384
    /// Places at which one stream is replayed, for the same reason.
    private static let maximumPlaces = 64

    /// Takes what was received, writes it, and says what is missing.
    func take(_ batch: MessageBatch) async {
        guard !batch.isEmpty else { return }
        await waitForRoom()
        var newest: Int64 = 0
        let now = Moment.now
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    let frames = try EventFrames(message, of: messages)
                    if let route = route(of: frames) {
                        newest = max(newest, try takeSamples(frames, route, at: now))
                    } else if frames.isIn(TopicArea.stream) {
                        let description = try descriptions.read(frames)
                        if let origin = messages.origin(of: message) {
                            publishers.note(description.replay, heardFrom: origin)
                        }
                        take(description, at: now)
                    }
                } catch {
                    malformed.note(error)
                }
            }
        }
        if newest > 0 {
            lag.take(
                published: newest, date: now.date.nanosecondsSince1970, allowance: clockAllowance, at: now.monotonic)
        }
        resumeWaits()
        if appender.count > 0 { uncommitted.raise() }
    }

    /// - Returns: when they were published, in nanoseconds since 1970; 0 if that is not known, or no session records them.
    private func takeSamples(_ frames: EventFrames, _ route: Route, at now: Moment) throws -> Int64 {
        if route.recordings.isEmpty { return 0 }
        let batch = ReceivedBatch(try route.reader.read(frames.body), frames.body, packed: frames.packed)
        let published = EventTime.time(in: frames.time)?.nanosecondsSince1970
        for (session, stream) in route.recordings where session.isRecording {
            do {
                let outcome = try stream.take(batch, at: now)
                switch outcome {
                case .written: if let published, published > 0 { session.published.append(published) }
                case .recover: recover(stream, of: session, at: now)
                case .nothing: break
                }
                if stream.hasNewGaps { announceGaps(of: stream, in: session) }
            } catch let error as MessageError {
                malformed.note(error)
            } catch {
                fail(session, error)
            }
        }
        return published ?? 0
    }

    /// Where a batch of samples goes; nil for other events.
    private func route(of frames: EventFrames) -> Route? {
        if let known = routes.value(of: frames.topic) { return known }
        guard frames.isIn(TopicArea.samples) else { return nil }
        if routes.count >= Self.maximumNames { routes = TopicTable() }
        let name = StreamName(String(decoding: frames.topic.dropFirst(TopicArea.samples.utf8.count), as: UTF8.self))
        let route = Route(
            sessions.values.filter(\.isRecording).compactMap { session in
                name.flatMap { session.streams[$0] }.map { (session, $0) }
            })
        routes.add(frames.topic, route)
        return route
    }

    func take(_ description: StreamDescription, at now: Moment) {
        // Those that are still there describe themselves again within a second.
        let (name, place) = (description.name, description.replay)
        if described.count >= Self.maximumNames || described[name]?.count ?? 0 >= Self.maximumPlaces { described = [:] }
        described[name, default: [:]][place] = now.monotonic
        for session in sessions.values where session.status == .running && session.wants(description.name) {
            if session.streams[description.name] == nil, !isConfigured(description.name) {
                if waiting.count < Self.maximumNames { waiting[description.name] = (description, now.monotonic) }
                continue
            }
            guard let stream = stream(for: description, from: nil, in: session, at: now) else { continue }
            session.watch.take(description, at: now.monotonic, time: session.seconds(of: now.date))
            if stream.hasNewGaps { announceGaps(of: stream, in: session) }
            if stream.intake.expect(epoch: description.epoch, upTo: description.nextSequence) {
                recover(stream, of: session, at: now)
            }
        }
    }

    /// The recording of a stream that a publisher describes; nil where it can't be opened.
    ///
    /// A stream that was not there when the session started gets its log now. All of its epoch belongs to the session,
    /// except what was sampled before the start.
    /// - Parameter first: the first sample that belongs to the session, where it starts with this.
    func stream(
        for description: StreamDescription, from first: Int?, in session: Session, at now: Moment
    ) -> StreamRecording? {
        do {
            if let stream = session.streams[description.name] {
                try stream.meet(description, from: first, at: now)
                return stream
            }
            if session.hasClosed(description.name) { return nil }
            // Those that the session starts with were checked together.
            if session.status > .starting {
                try StreamRecording.check(description, startDate: session.record.startDate)
            }
            let stream = try session.open(description, from: first, at: now) { configurations[$0] }
            routes = TopicTable()
            return stream
        } catch let error as MessageError {
            malformed.note(error)
        } catch {
            fail(session, error)
        }
        return nil
    }
}
