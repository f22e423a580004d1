package import Messages
import SampleSources
import ServiceKit

/// Samples that phones and other devices push over the network.
///
/// A client that numbers its samples keeps them until they are acknowledged, so none are lost on the way. The stream has the
/// client's numbers and epoch: samples sent again after a restart of this program are recognised by every subscriber. Sensor
/// Logger numbers only its messages, so this program numbers its samples.
extension Publication {
    /// A client's date is believed if it is at most this far ahead of or behind this machine's, in nanoseconds.
    private static let furthestAhead = 60 * Nanoseconds.perSecond
    private static let furthestBehind = 86_400 * Nanoseconds.perSecond
    /// The largest error believed of a client's clock when it sends, in nanoseconds.
    private static let largestError = 2 * Nanoseconds.perSecond

    /// The number of streams that clients push.
    package var pushedStreamCount: Int { pushes.names.count }
    /// The number of messages by outcome.
    package var pushedMessages: (accepted: Int, repeated: Int, refused: Int) {
        (pushes.accepted, pushes.repeated, pushes.refused)
    }

    /// Takes a pushed message. The request is answered when its samples are published and kept, or refused.
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

    /// Gives up missing messages whose deadline has passed.
    func wakePushes(at now: Moment) {
        for run in pushes.runs.values { giveUpMissing(of: run, at: now) }
        for (key, session) in pushes.sessions { giveUpMissing(of: session, key, at: now) }
        pushes.deadline = .max
        for run in pushes.runs.values { plan(run.queue.deadline) }
        for session in pushes.sessions.values { plan(session.queue.deadline) }
    }

    /// Refuses all waiting messages because the program ends. Their clients keep them.
    func finishPushes() {
        let stopping = PushRefusal(.stopping, "the program is stopping: send this again in a few seconds")
        for run in pushes.runs.values { for one in run.queue.removeAll() { refuse(one.request, stopping) } }
        for session in pushes.sessions.values { for one in session.queue.removeAll() { refuse(one.request, stopping) } }
        pushes.deadline = .max
    }

    /// Ends streams whose clients are silent, and forgets former runs without retained samples.
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
        for session in pushes.sessions.values where now.monotonic - session.lastArrival > PushedInput.longestSilence {
            session.streams.shrink()
        }
    }

    /// Brings the wake-up for waiting messages forward if necessary. A wake-up that is too early does no harm.
    func plan(_ deadline: Int64?) {
        if let deadline, deadline < pushes.deadline { pushes.deadline = deadline }
    }

    // MARK: The recorder

    /// Takes a recorder's event about a session.
    package func note(_ event: RecordingEvent, at now: Moment) { pushes.recordings.note(event, at: now.monotonic) }

    /// The sessions that run, by the recorder's latest events.
    package func runningSessions(at now: Moment) -> [String] { pushes.recordings.running(at: now.monotonic) }

    /// A sentence for people whose samples the recorder cannot store; nil while no failure was reported.
    package var storageProblem: String? {
        pushes.recordings.failure.map {
            "The samples arrive, but the recording has failed. Tell the person who leads the session: \($0)"
        }
    }

    // MARK: Answers

    func acknowledge(_ request: Int, _ answer: PushAnswer) {
        if !pushes.datagrams.settle(request, answer) { emit(.acknowledge(request: request, answer)) }
    }

    /// - Parameter again: whether all samples of the message had arrived before.
    func accept(_ request: Int, again: Bool = false, _ answer: PushAnswer = .accepted(next: nil)) {
        if again { pushes.repeated += 1 } else { pushes.accepted += 1 }
        acknowledge(request, answer)
    }

    func refuse(_ request: Int, _ refusal: PushRefusal) {
        pushes.refused += 1
        acknowledge(request, .refused(refusal))
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

    private static let tooManyEpochs = PushRefusal(
        .tooMany, "clients have begun too many epochs: try again in ten minutes")
    private var tooManyStreams: PushRefusal {
        PushRefusal(.tooMany, "there are \(pushes.names.count) streams: a new one needs one that has ended")
    }

    /// Refuses new runs unless there is room for all of them.
    /// - Parameter new: the number of runs whose streams do not exist yet.
    func requireRoom(forRuns runs: Int, new: Int) throws(PushRefusal) {
        guard pushes.former.count + runs <= PushState.maximumFormer else { throw Self.tooManyEpochs }
        let missing = pushes.names.count + new - PushState.maximumStreams
        guard missing <= 0 || pushes.ended.count(where: { endedStream($0) != nil }) >= missing else {
            throw tooManyStreams
        }
    }

    /// Makes a stream, or a new run of one.
    func begin(
        _ name: StreamName, _ input: PushedInput, epoch: String, clientEpoch: String? = nil, next: Int, at now: Moment
    ) throws(PushRefusal) -> PublishedStream {
        let known = indexes[name].map { streams[$0] }
        if let known { try requireRunning(known) }
        guard pushes.former.count < PushState.maximumFormer else { throw Self.tooManyEpochs }
        guard known != nil || pushes.names.count < PushState.maximumStreams || removeEnded() else {
            throw tooManyStreams
        }
        // If the client named the epoch, an earlier run of this program may have published its first samples.
        let epochFirst = if let known, known.epoch == epoch { known.epochFirst } else { clientEpoch == nil ? next : 0 }
        let stream = PublishedStream(
            name, input, at: known?.index ?? streams.count, place: takePlace(), epoch: epoch, clientEpoch: clientEpoch,
            next: next, epochFirst: epochFirst)
        if let known {
            stream.descriptions = known.descriptions
            pushes.former.append(known)
        }
        put(stream)
        pushes.names.insert(name)
        return stream
    }

    /// The epoch of a stream whose samples this program numbers: the program's own, unless the name may have been used before.
    func ownEpoch(of known: PublishedStream?) -> String {
        if let known { return known.epoch }
        // A removed stream may have had this name: subscribers would know samples with the same numbers.
        return pushes.hasRemoved ? anotherEpoch() : epoch
    }

    /// An epoch that no stream has had.
    func anotherEpoch() -> String {
        pushes.epochsMade += 1
        return "\(epoch)-\(pushes.epochsMade)"
    }

    /// A stream whose client is silent; nil if the client has resumed sending.
    private func endedStream(_ name: StreamName) -> PublishedStream? {
        guard let index = indexes[name], streams[index].sampler.state == .ended else { return nil }
        return streams[index]
    }

    /// Removes a stream whose client is silent, if there is one.
    private func removeEnded() -> Bool {
        while let name = pushes.ended.popLast() {
            guard let stream = endedStream(name) else { continue }
            pushes.names.remove(name)
            pushes.runs[name] = nil
            pushes.unnumbered[name] = nil
            pushes.hasRemoved = true
            pushes.former.append(stream)
            remove(stream)
            return true
        }
        return false
    }

    func publish(
        _ rows: PushedRows, _ range: Range<Int>, of stream: PublishedStream, _ input: PushedInput,
        by clock: ClientClock, at now: Moment
    ) {
        let uptimes = input.place(rows.times[range], pairing: clock.pairing) { clock.uptime(of: $0, by: sleepWatch) }
        input.note(rows.times[range], at: now.monotonic)
        // Subscribers should know the fields before the first samples arrive.
        noteState(of: stream, at: now)
        var (first, rest) = (range.lowerBound, uptimes[...])
        while let uptime = rest.first {
            // A batch has one reading of the clocks, so it must not span a sleep.
            let slept = sleepWatch.slept(since: uptime)
            let piece = rest.prefix { sleepWatch.slept(since: $0) == slept }
            publish(rows, from: first, uptimes: piece, of: stream, at: now)
            first += piece.count
            rest = rest.dropFirst(piece.count)
        }
    }

    private func publish(
        _ rows: PushedRows, from first: Int, uptimes: ArraySlice<Int64>, of stream: PublishedStream, at now: Moment
    ) {
        let isNumeric = rows.types == nil
        let columns = isNumeric ? rows.fields.count : 0
        var numbers: [Double] = []
        numbers.reserveCapacity(uptimes.count * (1 + columns))
        for (row, uptime) in zip(first..., uptimes) {
            numbers.append(Nanoseconds.seconds(uptime))
            numbers += rows.values[row * columns..<(row + 1) * columns]
        }
        let batch = RowBatch(
            firstSequence: Int64(stream.nextSequence), count: uptimes.count, rows: numbers,
            records: isNumeric ? nil : RecordValues(rows.records[first..<first + uptimes.count]))
        publish(batch, of: stream, at: now)
    }

    // MARK: Clocks

    /// The conversion of a client's times to uptimes.
    ///
    /// Dates are believed if they are close to this machine's. On any other clock, `sentAt` or else the newest sample is paired
    /// with the message's arrival.
    func clock(newest: Int64, sentAt: Int64?, at now: Moment) -> ClientClock {
        let newest = sentAt ?? newest
        let date = now.date.nanosecondsSince1970
        if newest >= ClientClock.firstDate, newest < date + Self.furthestAhead, newest > date - Self.furthestBehind,
            sentAt.map({ abs($0 - date) < Self.largestError }) ?? true
        {
            return ClientClock(date, at: now.monotonic, by: sleepWatch, newest: newest, continues: true, isDate: true)
        }
        return ClientClock(
            newest, at: now.monotonic, by: sleepWatch, newest: newest, continues: newest >= ClientClock.firstDate)
    }

    /// Notes the newest time in a message. The clock is paired anew if the message with which it was paired came late,
    /// or if this machine's clock was wrong then.
    func note(newest: Int64, sentAt: Int64?, on clock: ClientClock, at now: Moment) {
        let time = sentAt ?? newest
        clock.note(time, at: now.monotonic, by: sleepWatch)
        guard
            clock.isAhead(time, at: now.monotonic, by: sleepWatch)
                || clock.isOutdated(time, at: now.monotonic, date: now.date, by: sleepWatch)
        else { return }
        let other = self.clock(newest: newest, sentAt: sentAt, at: now)
        // One wrong date among right ones must not move the others.
        if other.isDate || !clock.isDate { clock.pairAnew(as: other) }
    }
}
