package import MessageBus
package import Messages
package import Recording
import ServiceKit

/// Takes batches of samples and descriptions of streams.
extension Recordings {
    /// Topics and streams that are remembered: a stranger could publish under ever new names.
    static let maximumNames = 16_384
    /// Most replay addresses that are remembered for a stream, for the same reason.
    private static let maximumPlaces = 64
    /// Failures of a session after which it notes no further stream that can't be recorded: names can be invented without end.
    private static let maximumNotedRefusals = 100

    /// Takes an event. Call `endBatches` after the last of those that arrived together.
    /// - Returns: the stream's description, if the event is one.
    /// - Throws: `MessageError` or `DecodingError` if the event can't be read.
    package func take(_ frames: EventFrames, at now: Moment) throws -> StreamDescription? {
        if let route = route(of: frames.topic) {
            if route.recordings.isEmpty { return nil }
            let batch = ReceivedBatch(try route.reader.read(frames.body), frames.body, packed: frames.packed)
            take(batch, route, published: EventTime.time(in: frames.time), at: now)
        } else if frames.isIn(TopicArea.stream) {
            let description = try descriptions.read(frames)
            take(description, at: now)
            return description
        }
        return nil
    }

    package func take(_ batch: ReceivedBatch, _ route: Route, published: WallTime?, at now: Moment) {
        let sent = published?.nanosecondsSince1970 ?? 0
        newest = max(newest, sent)
        for (session, stream) in route.recordings where session.isRecording {
            do {
                let outcome = try stream.take(batch, published: published, at: now)
                switch outcome {
                case .written: if sent > 0 { session.published.append(sent) }
                case .recover: recover(stream, of: session, at: now)
                case .nothing: break
                }
                if stream.hasNewGaps { announceGaps(of: stream, in: session, at: now) }
            } catch let error as MessageError {
                emit(.malformed(error))
            } catch {
                fail(session, error, at: now)
            }
        }
    }

    /// Measures how far the recorder is behind, from the batches that were taken.
    package func endBatches(at now: Moment) {
        if newest > 0 {
            lag.take(
                published: newest, date: now.date.nanosecondsSince1970, allowance: clockAllowance, at: now.monotonic)
            newest = 0
        }
        advance(at: now)
    }

    /// The sessions and streams that get a topic's batches; nil if the topic is not one of samples.
    package func route(of topic: UnsafeRawBufferPointer) -> Route? {
        if let known = routes.value(of: topic) { return known }
        guard topic.starts(with: TopicArea.samples.utf8) else { return nil }
        if routes.count >= Self.maximumNames { routes = TopicTable() }
        let name = StreamName(String(decoding: topic.dropFirst(TopicArea.samples.utf8.count), as: UTF8.self))
        let route = Route(
            sessions.values.filter(\.isRecording).compactMap { session in
                name.flatMap { session.streams[$0] }.map { (session, $0) }
            })
        routes.add(topic, route)
        return route
    }

    /// Takes a publisher's description of a stream.
    package func take(_ description: StreamDescription, at now: Moment) {
        // Publishers that are still running describe their streams again within a second.
        let (name, place) = (description.name, description.replay)
        if described.count >= Self.maximumNames || described[name]?.count ?? 0 >= Self.maximumPlaces { described = [:] }
        described[name, default: [:]][place, default: Hearing(at: now.monotonic)].note(at: now.monotonic)
        note(description, at: now.date)
        for session in sessions.values where session.status == .waitingToStop {
            session.streams[name]?.hear(description, at: now)
        }
        for session in sessions.values where session.status == .running && session.wants(description.name) {
            if session.streams[description.name] == nil, !isConfigured(description.name, at: now) {
                if waiting.count < Self.maximumNames { waiting[description.name] = (description, now.monotonic) }
                continue
            }
            guard let stream = stream(for: description, from: nil, in: session, at: now) else { continue }
            session.watch.take(
                description, at: now.monotonic, time: session.seconds(at: now), isLeftOut: stream.isLeftOut)
            if stream.hasNewGaps { announceGaps(of: stream, in: session, at: now) }
            _ = stream.intake.expect(epoch: description.epoch, upTo: description.nextSequence)
            recover(stream, of: session, at: now)
        }
    }

    private func note(_ description: StreamDescription, at date: WallTime) {
        if runs.count >= Self.maximumNames { runs = [:] }
        let old = runs[description.name]
        let former = old.flatMap { $0.last.epoch == description.epoch ? $0.former : $0.last }
        runs[description.name] = (FormerRun(description, heard: date), former)
    }

    /// Notes the last runs of a resumed session's streams. A recorder that was just started may still receive their samples
    /// after the publisher's next run was described, and without ever receiving a description of them.
    func noteRuns(of session: Session) {
        for stream in session.ordered where runs.count < Self.maximumNames {
            let old = runs[stream.name]
            guard let run = stream.log.epochs.last.map({ FormerRun($0.record) }),
                old.map({ $0.last.heard < run.heard }) ?? true
            else { continue }
            runs[stream.name] = (run, old?.last.epoch == run.epoch ? old?.former : old?.last)
        }
    }

    /// The runs of a publisher before the described one. If the session begins in the past, those heard of after its start; if it
    /// begins now with this stream, those that ended before.
    private func formers(of description: StreamDescription, from first: Int?, in session: Session) -> [FormerRun] {
        let known = runs[description.name].map { [$0.former, $0.last].compactMap { $0 } } ?? []
        let described = known.prefix { $0.epoch != description.epoch }
        if session.record.limits.before != nil {
            return described.filter { $0.description != nil && $0.heard > session.record.startDate }
        }
        // Two publishers that run at the same time, by mistake, have different replay addresses.
        return first == nil ? [] : described.filter { $0.replay == description.replay }
    }

    /// The recording of a stream that a publisher describes; nil if its log can't be opened or is closed, or if the described run
    /// had ended when the session began.
    ///
    /// A stream that did not exist when the session started gets its log now. All of its epoch belongs to the session, except
    /// samples taken before the start.
    /// - Parameter first: the first sample that belongs to the session, for a stream that exists when the session starts; nil
    ///   otherwise.
    func stream(
        for description: StreamDescription, from first: Int?, in session: Session, at now: Moment
    ) -> StreamRecording? {
        do {
            if let stream = session.streams[description.name] {
                if stream.ended.contains(description.epoch) { return nil }
                try stream.meet(description, from: first, at: now)
                return stream
            }
            if session.hasClosed(description.name) { return nil }
            // The streams that a session starts with were checked together.
            if session.status > .starting {
                try StreamRecording.check(description, startDate: session.record.startDate)
            }
            let stream = try session.open(
                description, from: first, after: formers(of: description, from: first, in: session), at: now
            ) { configurations[$0] }
            routes = TopicTable()
            return stream
        } catch let error as MessageError {
            emit(.malformed(error))
            // Earlier versions recorded it. Nonsense must not spoil a session.
            if session.status == .running, session.streams[description.name] == nil,
                description.fields.contains(where: FieldName.isTooLong),
                session.record.failures.count < Self.maximumNotedRefusals
            {
                session.note(failures: ["\(description.name) is not recorded: \(error.message)"])
            }
        } catch {
            fail(session, error, at: now)
        }
        return nil
    }

    // MARK: Log configurations

    /// Asks log-manager about the log of a described stream, if it is time.
    /// - Returns: whether a log can be begun with the configuration known so far.
    private func isConfigured(_ stream: StreamName, at now: Moment) -> Bool {
        guard settings.shard?.owns(stream.device) ?? true else { return false }
        let name = LogName(device: stream.device, stream: stream.stream)
        if configurations.isDue(name, at: now.monotonic), unasked.count < Self.maximumNames {
            if unasked.insert(name).inserted { emit(.configure) }
        }
        return configurations.isSettled(name, at: now.monotonic)
    }

    /// Asks log-manager again, from time to time, about the logs being written: somebody may have changed their limits.
    func askForChangedLimits(at now: Moment) {
        let known = unasked.count
        for session in sessions.values where session.status == .running {
            for stream in session.ordered where unasked.count < Self.maximumNames {
                let name = stream.log.name
                if configurations.isDue(name, at: now.monotonic, age: LogConfigurations.lifeWhileWritten) {
                    unasked.insert(name)
                }
            }
        }
        if known == 0, !unasked.isEmpty { emit(.configure) }
    }

    /// The logs that log-manager is to be asked about now.
    package func unknownLogs(at now: Moment) -> [LogName] {
        defer { unasked = [] }
        return unasked.filter { configurations.isDue($0, at: now.monotonic) }
    }

    /// Takes log-manager's answers, if it was asked, and begins the logs that waited for them.
    package func configured(_ answers: LogConfigurations.Answers?, at now: Moment) {
        if let answers {
            configurations.take(answers, at: now.monotonic)
            limitFiles(by: answers, at: now)
        }
        let heard = waiting
        waiting = [:]
        for (description, time) in heard.values { take(description.later(by: now.monotonic - time), at: now) }
        advance(at: now)
    }

    private func limitFiles(by answers: LogConfigurations.Answers, at now: Moment) {
        for session in sessions.values where session.status == .running {
            for stream in session.ordered {
                guard let configuration = answers.configurations[stream.log.name] ?? nil,
                    stream.log.limit(by: configuration, in: session.record, at: now)
                else { continue }
                stream.isChanged = true
                isStoringDue = true
            }
        }
    }
}

extension StreamDescription {
    /// The same description at a later time: its clocks continued meanwhile.
    fileprivate func later(by nanoseconds: Int64) -> StreamDescription {
        var later = self
        later.clock = clock.later(by: nanoseconds)
        return later
    }
}
