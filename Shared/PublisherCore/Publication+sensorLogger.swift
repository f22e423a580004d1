import Logging
import Messages
import SampleSources
import ServiceKit

/// Sensor Logger's messages. They are numbered and hold readings of several sensors; this program numbers the samples.
extension Publication {
    /// The number of lost message ranges remembered for a session of Sensor Logger: the latest ones.
    private static let maximumGivenUp = 1_000

    func push(_ message: SensorLoggerMessage, as request: Int, at now: Moment) throws(PushRefusal) {
        let key = PushState.SessionKey(device: message.device, session: message.session)
        let session = session(key, at: now)
        session.lastArrival = now.monotonic
        // Over all sensors: one that changes rarely has old times.
        if let newest = message.readings.lazy.compactMap({ $0.rows.times.max() }).max() {
            let clock = session.clock ?? clock(newest: newest, sentAt: nil, at: now)
            session.clock = clock
            note(newest: newest, sentAt: nil, on: clock, at: now)
        }
        for readings in message.readings {
            let name = StreamName(device: name(of: key), stream: readings.stream)
            if let index = indexes[name] { try requireRunning(streams[index]) }
        }
        if message.number < session.queue.next {
            guard !session.givenUp.contains(where: { $0.contains(message.number) }) else {
                throw PushRefusal(.tooLate, "message \(message.number) came too late: it is recorded as lost")
            }
            return accept(request, again: true, messageAnswer)
        }
        let waiting = PushQueue.Waiting(
            range: message.number..<message.number + 1, message: message, request: request, at: now.monotonic)
        if let replaced = session.queue.add(waiting) {
            refuse(replaced.request, PushRefusal(.conflict, "message \(message.number) was sent again"))
        }
        publishWaiting(of: session, key, at: now)
        giveUpMissing(of: session, key, at: now)
        plan(session.queue.deadline)
    }

    private func name(of key: PushState.SessionKey) -> String { settings.phones[key.device]?.name ?? key.device }

    private func session(_ key: PushState.SessionKey, at now: Moment) -> PushState.LoggerSession {
        if let known = pushes.sessions[key] { return known }
        if pushes.sessions.count >= PushState.maximumSessions,
            let idle = pushes.sessions.min(by: { $0.value.lastArrival < $1.value.lastArrival })
        {
            for one in idle.value.queue.removeAll() { refuse(one.request, PushRefusal(.tooMany, "too many sessions")) }
            pushes.sessions[idle.key] = nil
        }
        let platform = settings.phones[key.device]?.platform ?? settings.platform
        let session = PushState.LoggerSession(SensorLoggerStreams(platform: platform), at: now.monotonic)
        pushes.sessions[key] = session
        return session
    }

    private func publishWaiting(of session: PushState.LoggerSession, _ key: PushState.SessionKey, at now: Moment) {
        while let waiting = session.queue.pop() {
            var streams = session.streams
            let parts = continuing(streams.parts(of: waiting.message), of: key)
            do throws(PushRefusal) {
                // All or nothing: the client may send a refused message again.
                try requireStreams(for: parts, of: key)
                for part in parts {
                    // After the parts before it: if the fields of a sensor change within the message, its numbers continue.
                    let (stream, input) = try loggerStream(part, of: key, at: now)
                    publish(part, of: session, stream, input, at: now)
                }
            } catch {
                refuse(waiting.request, error)
                return
            }
            session.streams = streams
            session.queue.advance(to: waiting.range.upperBound)
            accept(waiting.request, messageAnswer)
        }
    }

    /// The parts with the types of their streams' samples before, as far as those allow the values: a value that is
    /// sometimes `null` must not begin a run each time.
    private func continuing(
        _ parts: [SensorLoggerStreams.Part], of key: PushState.SessionKey
    ) -> [SensorLoggerStreams.Part] {
        var result = parts
        var latest: [StreamName: PushedRows] = [:]
        for index in parts.indices {
            let rows = parts[index].rows
            let name = StreamName(device: name(of: key), stream: parts[index].stream)
            if let before = latest[name] {
                result[index].rows = rows.following(before.fields, before.types)
            } else if let input = indexes[name].flatMap({ streams[$0].sampler as? PushedInput }) {
                result[index].rows = rows.following(
                    Array(input.fields.dropFirst()), input.types.map { Array($0.dropFirst()) })
            }
            latest[name] = result[index].rows
        }
        return result
    }

    private func publish(
        _ part: SensorLoggerStreams.Part, of session: PushState.LoggerSession, _ stream: PublishedStream,
        _ input: PushedInput, at now: Moment
    ) {
        if session.known.insert(part.stream).inserted {
            // Another session may have another clock.
            input.forgetTimes()
        } else if session.interrupted.remove(part.stream) != nil {
            stream.skip(to: stream.nextSequence + lost(before: part.rows, in: input), .estimated)
            input.noteGap()
        }
        let clock = session.clock ?? ClientClock()
        publish(part.rows, 0..<part.rows.count, of: stream, input, by: clock, at: now)
    }

    /// The estimated number of samples in missing messages, from the times around them.
    private func lost(before rows: PushedRows, in input: PushedInput) -> Int {
        guard let next = rows.times.first, let last = input.lastTime, let interval = input.interval else { return 1 }
        return EstimatedLoss.samples(in: Double(next - last) / interval)
    }

    /// Refuses a message unless all of its parts can be published.
    private func requireStreams(
        for parts: [SensorLoggerStreams.Part], of key: PushState.SessionKey
    ) throws(PushRefusal) {
        var latest: [StreamName: PushedRows] = [:]
        var (runs, new) = (0, 0)
        for part in parts {
            let name = StreamName(device: name(of: key), stream: part.stream)
            if let former = latest.updateValue(part.rows, forKey: name) {
                if former.fields != part.rows.fields || former.types != part.rows.types { runs += 1 }
                continue
            }
            guard pushes.runs[name] == nil, pushes.unnumbered[name] == nil else {
                throw PushRefusal(.conflict, "\(name) is pushed by another kind of client: choose another name")
            }
            let known = indexes[name].map { streams[$0] }
            if let known { try requireRunning(known) } else { new += 1 }
            if known.flatMap({ matchingInput(of: $0, for: part.rows) }) == nil { runs += 1 }
        }
        // A stream that continues must not make room for another one.
        pushes.ended.removeAll { latest[$0] != nil }
        try requireRoom(forRuns: runs, new: new)
    }

    /// The input of a stream, if its fields are those of the samples.
    private func matchingInput(of stream: PublishedStream, for rows: PushedRows) -> PushedInput? {
        guard let input = stream.sampler as? PushedInput, input.hasFields(of: rows),
            input.types.map({ Array($0.dropFirst()) }) == rows.types
        else { return nil }
        return input
    }

    /// The stream of a sensor. If the sensor's fields changed, the stream continues with the new ones.
    private func loggerStream(
        _ part: SensorLoggerStreams.Part, of key: PushState.SessionKey, at now: Moment
    ) throws(PushRefusal) -> (PublishedStream, PushedInput) {
        let name = StreamName(device: name(of: key), stream: part.stream)
        let known = indexes[name].map { streams[$0] }
        if let known, let input = matchingInput(of: known, for: part.rows) { return (known, input) }
        let input = PushedInput(
            fields: part.rows.fields, types: part.rows.types, unit: part.unit, rate: nil, description: part.description,
            at: now.monotonic)
        return (try begin(name, input, epoch: ownEpoch(of: known), next: known?.nextSequence ?? 0, at: now), input)
    }

    func giveUpMissing(of session: PushState.LoggerSession, _ key: PushState.SessionKey, at now: Moment) {
        while let missing = session.queue.missing(at: now.monotonic) {
            emit(
                .log(
                    .warning, "messages of a phone did not arrive",
                    ["device": "\(key.device)", "session": "\(key.session)", "messages": "\(missing)"]))
            if session.givenUp.count == Self.maximumGivenUp { session.givenUp.removeFirst() }
            session.givenUp.append(missing)
            session.interrupted = session.known
            session.queue.advance(to: missing.upperBound)
            publishWaiting(of: session, key, at: now)
        }
    }

    /// The answer to an accepted message. It reports a failed recording to the person with the phone.
    private var messageAnswer: PushAnswer { storageProblem.map(PushAnswer.unstored) ?? .accepted(next: nil) }
}
