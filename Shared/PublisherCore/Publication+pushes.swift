import Logging
package import Messages
import SampleSources
import ServiceKit

/// What clients push: phones and other devices that send samples over the network.
///
/// A client that numbers its samples keeps what was not acknowledged, so nothing is lost on the way; its numbers are those of the
/// stream, and so is its epoch, so that samples that it sends again after a restart of this program are recognised by everybody.
/// Sensor Logger numbers its messages alone: its samples are numbered here.
extension Publication {
    /// The furthest that a date may be ahead of this machine's, or behind it, to be believed, in nanoseconds.
    private static let furthestAhead = 60 * Nanoseconds.perSecond
    private static let furthestBehind = 86_400 * Nanoseconds.perSecond
    /// How far a client's clock may be wrong when it sends, in nanoseconds.
    private static let largestError = 2 * Nanoseconds.perSecond
    /// The first time that is taken for a date: 2001, in nanoseconds.
    private static let firstDate: Int64 = 1_000_000_000_000_000_000
    /// Messages of a session of Sensor Logger whose loss is remembered.
    private static let maximumGivenUp = 10_000

    /// Streams that clients push.
    package var pushedStreamCount: Int { pushes.names.count }
    /// Messages by what became of them.
    package var pushedMessages: (accepted: Int, repeated: Int, refused: Int) {
        (pushes.accepted, pushes.repeated, pushes.refused)
    }

    /// Takes what a client pushed. The request is answered when the samples are published and kept, or refused.
    package func push(_ message: PushMessage, as request: Int, at now: Moment) {
        do throws(PushRefusal) {
            guard hasBegun, !isStopping else {
                throw PushRefusal(.stopping, "the program is stopping: send this again in a few seconds")
            }
            switch message {
            case .numbered(let samples): try push(samples, as: request, at: now)
            case .sensorLogger(let message): try push(message, as: request, at: now)
            case .unnumbered(let samples): try push(samples, as: request, at: now)
            }
        } catch {
            refuse(request, error)
        }
    }

    /// Gives up what did not come in time.
    func wakePushes(at now: Moment) {
        for run in pushes.runs.values { giveUpMissing(of: run, at: now) }
        for (key, session) in pushes.sessions { giveUpMissing(of: session, key, at: now) }
        pushes.deadline = .max
        for run in pushes.runs.values { plan(run.queue.deadline) }
        for session in pushes.sessions.values { plan(session.queue.deadline) }
    }

    /// Refuses everything that waits, because the program ends: the clients keep it.
    func finishPushes() {
        let stopping = PushRefusal(.stopping, "the program is stopping: send this again in a few seconds")
        for run in pushes.runs.values { for one in run.queue.removeAll() { refuse(one.request, stopping) } }
        for session in pushes.sessions.values { for one in session.queue.removeAll() { refuse(one.request, stopping) } }
        pushes.deadline = .max
    }

    /// Ends streams whose clients are silent, and forgets those of which nothing is kept any more.
    func endSilentPushes(at now: Moment) {
        pushes.former.removeAll { run in
            guard retention.isEmpty(at: run.place) else { return false }
            freePlaces.append(run.place)
            return true
        }
        pushes.ended.removeAll(keepingCapacity: true)
        for name in pushes.names {
            guard let index = indexes[name], let input = streams[index].sampler as? PushedInput,
                input.isOver(at: now.monotonic)
            else { continue }
            pushes.ended.append(name)
            input.end()
            noteState(of: streams[index], at: now)
        }
        pushes.sessions = pushes.sessions.filter { now.monotonic - $0.value.lastArrival < PushedInput.longestSilence }
    }

    /// Has what waits looked at in time. A time that is too early is found out then.
    private func plan(_ deadline: Int64?) {
        if let deadline, deadline < pushes.deadline { pushes.deadline = deadline }
    }

    // MARK: The recorder

    /// Takes what a recorder says of a session.
    package func note(_ event: RecordingEvent, at now: Moment) { pushes.recordings.note(event, at: now.monotonic) }

    /// The sessions that run, as far as the recorder said so lately.
    package func runningSessions(at now: Moment) -> [String] { pushes.recordings.running(at: now.monotonic) }

    /// What a person is told whose samples the recorder can't store; nil while it can, as far as it says.
    package var storageProblem: String? {
        pushes.recordings.failure.map {
            "The samples arrive, but the recording has failed. Tell the person who leads the session: \($0)"
        }
    }

    // MARK: Answers

    private func acknowledge(_ request: Int, _ answer: PushAnswer) {
        if !pushes.datagrams.settle(request, answer) { emit(.acknowledge(request: request, answer)) }
    }

    /// - Parameter again: whether all of it had come before.
    func accept(_ request: Int, again: Bool = false, _ answer: PushAnswer = .accepted(next: nil)) {
        if again { pushes.repeated += 1 } else { pushes.accepted += 1 }
        acknowledge(request, answer)
    }

    /// What the sender of a message of Sensor Logger is answered, who should know that the recording has failed.
    private var messageAnswer: PushAnswer { storageProblem.map(PushAnswer.unstored) ?? .accepted(next: nil) }

    private func refuse(_ request: Int, _ refusal: PushRefusal) {
        pushes.refused += 1
        acknowledge(request, .refused(refusal))
    }

    // MARK: Numbered samples

    private func push(_ samples: NumberedSamples, as request: Int, at now: Moment) throws(PushRefusal) {
        guard let run = try run(for: samples, at: now) else {
            // It has older ones, which this program does not know.
            return acknowledge(request, .wanted(next: samples.oldest ?? 0))
        }
        try requireRunning(run.published)
        guard samples.rows.fields == Array(run.input.fields.dropFirst()) else {
            throw PushRefusal(
                .conflict,
                "\(run.published.name) has the fields \(run.input.fields.dropFirst().joined(separator: ", ")): begin another epoch "
                    + "for others")
        }
        if samples.end <= run.queue.next {
            if samples.isLast { end(run, at: now) }
            return accept(request, again: true, .accepted(next: run.queue.next))
        }
        if let oldest = samples.oldest, oldest > run.queue.next {
            skip(to: oldest, of: run, .notInSource)
        }
        if samples.first > run.queue.next, samples.oldest != nil {
            return acknowledge(request, .wanted(next: run.queue.next))
        }
        let waiting = PushQueue.Waiting(
            range: samples.first..<samples.end, message: samples, request: request, at: now.monotonic)
        if let replaced = run.queue.add(waiting) { acceptLater(replaced.request, run) }
        publishWaiting(of: run, at: now)
        giveUpMissing(of: run, at: now)
        plan(run.queue.deadline)
    }

    /// A message that came twice, and waits: the first of its clients must send it again.
    private func acceptLater(_ request: Int, _ run: PushState.NumberedRun) {
        acknowledge(request, .wanted(next: run.queue.next))
    }

    private func publishWaiting(of run: PushState.NumberedRun, at now: Moment) {
        while let waiting = run.queue.pop() {
            let known = max(0, run.queue.next - waiting.range.lowerBound)
            if known < waiting.range.count {
                publish(waiting.message.rows, from: known, of: run.published, run.input, offset: run.offset, at: now)
                run.queue.advance(to: waiting.range.upperBound)
            }
            if waiting.message.isLast { end(run, at: now) }
            accept(waiting.request, .accepted(next: run.queue.next))
        }
    }

    /// Notes that a client has no more samples: its silence is none.
    private func end(_ run: PushState.NumberedRun, at now: Moment) {
        run.input.end()
        noteState(of: run.published, at: now)
    }

    private func giveUpMissing(of run: PushState.NumberedRun, at now: Moment) {
        while let missing = run.queue.missing(at: now.monotonic) {
            skip(to: missing.upperBound, of: run, .notInSource)
            publishWaiting(of: run, at: now)
        }
    }

    private func skip(to number: Int, of run: PushState.NumberedRun, _ reason: Gap.Reason) {
        run.published.skip(to: number, reason)
        run.queue.advance(to: number)
    }

    /// The run that a message belongs to; nil if the client is to begin with older samples.
    private func run(for samples: NumberedSamples, at now: Moment) throws(PushRefusal) -> PushState.NumberedRun? {
        let known = pushes.runs[samples.name]
        guard known != nil || !pushes.names.contains(samples.name) else {
            throw PushRefusal(
                .conflict, "\(samples.name) is pushed by a client that does not number its samples: choose another name"
            )
        }
        if let known, !isAnother(samples, than: known) { return known }
        if let epoch = samples.epoch,
            pushes.former.contains(where: { $0.name == samples.name && $0.clientEpoch == epoch })
        {
            throw PushRefusal(.tooLate, "\(samples.name) has begun another epoch since \(epoch)")
        }
        if let oldest = samples.oldest, oldest < samples.first { return nil }
        pushes.runsBegun += 1
        let epoch = samples.epoch.map { "\($0)@\(settings.machine)" } ?? "\(epoch)-\(pushes.runsBegun)"
        let input = PushedInput(
            fields: samples.rows.fields, types: samples.rows.types, unit: samples.unit, rate: samples.rate,
            description: samples.description ?? "pushed by a client that numbers its samples", at: now.monotonic)
        let published = try begin(
            samples.name, input, epoch: epoch, clientEpoch: samples.epoch, next: samples.first, at: now)
        let run = PushState.NumberedRun(
            published, input, epoch: samples.epoch, next: samples.first,
            beginning: samples.first == 0 ? PushedSample(first: samples.rows) : nil,
            offset: offset(of: samples, at: now))
        for one in known?.queue.removeAll() ?? [] {
            refuse(one.request, PushRefusal(.tooLate, "\(samples.name) has begun another epoch"))
        }
        pushes.runs[samples.name] = run
        return run
    }

    /// Whether a client has begun to count anew.
    private func isAnother(_ samples: NumberedSamples, than run: PushState.NumberedRun) -> Bool {
        if samples.epoch != nil || run.epoch != nil { return samples.epoch != run.epoch }
        return samples.first == 0 && run.queue.next > 0 && PushedSample(first: samples.rows) != run.beginning
    }

    // MARK: Sensor Logger

    private func push(_ message: SensorLoggerMessage, as request: Int, at now: Moment) throws(PushRefusal) {
        let key = PushState.SessionKey(device: message.device, session: message.session)
        let session = session(key, message, at: now)
        session.lastArrival = now.monotonic
        for readings in message.readings {
            let name = StreamName(device: name(of: key), stream: readings.stream)
            if let index = indexes[name] { try requireRunning(streams[index]) }
        }
        if message.number < session.queue.next {
            guard !session.givenUp.contains(message.number) else {
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

    private func session(
        _ key: PushState.SessionKey, _ message: SensorLoggerMessage, at now: Moment
    ) -> PushState.LoggerSession {
        if let known = pushes.sessions[key] { return known }
        if pushes.sessions.count >= PushState.maximumSessions,
            let idle = pushes.sessions.min(by: { $0.value.lastArrival < $1.value.lastArrival })
        {
            for one in idle.value.queue.removeAll() { refuse(one.request, PushRefusal(.tooMany, "too many sessions")) }
            pushes.sessions[idle.key] = nil
        }
        let platform = settings.phones[key.device]?.platform ?? settings.platform
        let session = PushState.LoggerSession(
            SensorLoggerStreams(platform: platform),
            offset: message.readings.first.map { offset(of: $0.rows, sentAt: nil, at: now) } ?? 0, at: now.monotonic)
        pushes.sessions[key] = session
        return session
    }

    private func publishWaiting(of session: PushState.LoggerSession, _ key: PushState.SessionKey, at now: Moment) {
        while let waiting = session.queue.pop() {
            var streams = session.streams
            let parts = streams.parts(of: waiting.message)
            do throws(PushRefusal) {
                // All or nothing: what is refused may come again.
                var published: [(PublishedStream, PushedInput)] = []
                for part in parts { published.append(try loggerStream(part, of: key, at: now)) }
                for (part, (stream, input)) in zip(parts, published) {
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

    private func publish(
        _ part: SensorLoggerStreams.Part, of session: PushState.LoggerSession, _ stream: PublishedStream,
        _ input: PushedInput, at now: Moment
    ) {
        if session.known.insert(part.stream).inserted {
            // Another session's clock may be another one.
            input.forgetTimes()
        } else if session.interrupted.remove(part.stream) != nil {
            stream.skip(to: stream.nextSequence + lost(before: part.rows, in: input), .estimated)
        }
        publish(part.rows, from: 0, of: stream, input, offset: session.offset, at: now)
    }

    /// How many samples messages that are missing had, by the times around them.
    private func lost(before rows: PushedRows, in input: PushedInput) -> Int {
        guard let next = rows.times.first, let last = input.lastTime, let interval = input.interval else { return 1 }
        return EstimatedLoss.samples(in: Double(next - last) / interval)
    }

    /// The stream of a sensor. If the sensor has other fields than before, the stream continues with them.
    private func loggerStream(
        _ part: SensorLoggerStreams.Part, of key: PushState.SessionKey, at now: Moment
    ) throws(PushRefusal) -> (PublishedStream, PushedInput) {
        let name = StreamName(device: name(of: key), stream: part.stream)
        guard pushes.runs[name] == nil, pushes.unnumbered[name] == nil else {
            throw PushRefusal(.conflict, "\(name) is pushed by another kind of client: choose another name")
        }
        let known = indexes[name].map { streams[$0] }
        if let known, let input = known.sampler as? PushedInput {
            try requireRunning(known)
            let types = input.types.map { Array($0.dropFirst()) }
            if Array(input.fields.dropFirst()) == part.rows.fields, types == part.rows.types { return (known, input) }
        }
        let input = PushedInput(
            fields: part.rows.fields, types: part.rows.types, unit: part.unit, rate: nil, description: part.description,
            at: now.monotonic)
        return (try begin(name, input, epoch: epoch, next: known?.nextSequence ?? 0, at: now), input)
    }

    private func giveUpMissing(of session: PushState.LoggerSession, _ key: PushState.SessionKey, at now: Moment) {
        while let missing = session.queue.missing(at: now.monotonic) {
            emit(
                .log(
                    .warning, "messages of a phone did not arrive",
                    ["device": "\(key.device)", "session": "\(key.session)", "messages": "\(missing)"]))
            if session.givenUp.count + missing.count <= Self.maximumGivenUp { session.givenUp.formUnion(missing) }
            session.interrupted = session.known
            session.queue.advance(to: missing.upperBound)
            publishWaiting(of: session, key, at: now)
        }
    }

    // MARK: Streams

    func requireRunning(_ stream: PublishedStream) throws(PushRefusal) {
        guard stream.sampler is PushedInput else {
            throw PushRefusal(.conflict, "\(stream.name) is in this program's configuration: choose another name")
        }
        guard stream.sampler.state != .stopped else {
            throw PushRefusal(.conflict, "\(stream.name) was stopped by a request: start it with streams.start")
        }
    }

    /// Makes a stream, or another run of one.
    func begin(
        _ name: StreamName, _ input: PushedInput, epoch: String, clientEpoch: String? = nil, next: Int, at now: Moment
    ) throws(PushRefusal) -> PublishedStream {
        let known = indexes[name].map { streams[$0] }
        if let known { try requireRunning(known) }
        guard pushes.former.count < PushState.maximumFormer else {
            throw PushRefusal(.tooMany, "clients have begun too many epochs: try again in ten minutes")
        }
        guard known != nil || pushes.names.count < PushState.maximumStreams || removeEnded() else {
            throw PushRefusal(.tooMany, "there are \(pushes.names.count) streams: a new one needs one that has ended")
        }
        let stream = PublishedStream(
            name, input, at: known?.index ?? streams.count, place: takePlace(), epoch: epoch, clientEpoch: clientEpoch,
            next: next)
        if let known {
            stream.descriptions = known.descriptions
            pushes.former.append(known)
        }
        put(stream)
        pushes.names.insert(name)
        return stream
    }

    /// Removes a stream whose client is silent, if there is one.
    private func removeEnded() -> Bool {
        while let name = pushes.ended.popLast() {
            // Its client may have begun to send again.
            guard let index = indexes[name], streams[index].sampler.state == .ended else { continue }
            let stream = streams[index]
            pushes.names.remove(name)
            pushes.runs[name] = nil
            pushes.unnumbered[name] = nil
            pushes.former.append(stream)
            remove(stream)
            return true
        }
        return false
    }

    private func publish(
        _ rows: PushedRows, from first: Int, of stream: PublishedStream, _ input: PushedInput, offset: Int64,
        at now: Moment
    ) {
        publish(rows, first..<rows.count, of: stream, input, offset: offset, at: now)
    }

    func publish(
        _ rows: PushedRows, _ range: Range<Int>, of stream: PublishedStream, _ input: PushedInput, offset: Int64,
        at now: Moment
    ) {
        input.note(rows.times[range], at: now.monotonic)
        // A listener should know the fields before the first samples come.
        noteState(of: stream, at: now)
        let isNumeric = rows.types == nil
        let columns = isNumeric ? rows.fields.count : 0
        var numbers: [Double] = []
        numbers.reserveCapacity(range.count * (1 + columns))
        for row in range {
            numbers.append(Nanoseconds.seconds(rows.times[row] + offset))
            numbers += rows.values[row * columns..<(row + 1) * columns]
        }
        let batch = RowBatch(
            firstSequence: Int64(stream.nextSequence), count: range.count, rows: numbers,
            records: isNumeric ? nil : RecordValues(rows.records[range]))
        publish(batch, of: stream, at: now)
    }

    // MARK: Clocks

    /// What is added to a client's times to get those of this machine's monotonic clock, in nanoseconds.
    ///
    /// Dates are believed, if they are near this machine's. Of other clocks the newest sample, or what the clock said when the
    /// message was sent, is taken for the moment of its arrival.
    func offset(of rows: PushedRows, sentAt: Int64?, at now: Moment) -> Int64 {
        let newest = sentAt ?? rows.times.max() ?? 0
        let date = now.date.nanosecondsSince1970
        if newest >= Self.firstDate, newest < date + Self.furthestAhead, newest > date - Self.furthestBehind,
            sentAt.map({ abs($0 - date) < Self.largestError }) ?? true
        {
            return now.monotonic - date
        }
        return now.monotonic - newest
    }

    /// The same for all streams of a client's run.
    private func offset(of samples: NumberedSamples, at now: Moment) -> Int64 {
        guard let epoch = samples.epoch else { return offset(of: samples.rows, sentAt: samples.sentAt, at: now) }
        if let known = pushes.clocks[samples.name.device], known.epoch == epoch { return known.offset }
        let offset = offset(of: samples.rows, sentAt: samples.sentAt, at: now)
        if pushes.clocks.count >= PushState.maximumStreams { pushes.clocks = [:] }
        pushes.clocks[samples.name.device] = (epoch, offset)
        return offset
    }
}
