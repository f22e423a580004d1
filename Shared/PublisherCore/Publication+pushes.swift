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
        for session in pushes.sessions.values where now.monotonic - session.lastArrival > PushedInput.longestSilence {
            session.streams.shrink()
        }
    }

    /// Has what waits looked at in time. A time that is too early is found out then.
    func plan(_ deadline: Int64?) {
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

    func acknowledge(_ request: Int, _ answer: PushAnswer) {
        if !pushes.datagrams.settle(request, answer) { emit(.acknowledge(request: request, answer)) }
    }

    /// - Parameter again: whether all of it had come before.
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
        // Of an epoch that a client names, an earlier program may have published what was before.
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

    /// The epoch of a stream whose samples are numbered here, from 0 on unless it is known.
    func ownEpoch(of known: PublishedStream?) -> String {
        if let known { return known.epoch }
        // It may be one that made room for others: listeners know samples with these numbers.
        return pushes.hasRemoved ? anotherEpoch() : epoch
    }

    /// An epoch that no stream has had.
    func anotherEpoch() -> String {
        pushes.epochsMade += 1
        return "\(epoch)-\(pushes.epochsMade)"
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
            pushes.hasRemoved = true
            pushes.former.append(stream)
            remove(stream)
            return true
        }
        return false
    }

    func publish(
        _ rows: PushedRows, from first: Int, of stream: PublishedStream, _ input: PushedInput, by clock: ClientClock,
        at now: Moment
    ) {
        publish(rows, first..<rows.count, of: stream, input, by: clock, at: now)
    }

    func publish(
        _ rows: PushedRows, _ range: Range<Int>, of stream: PublishedStream, _ input: PushedInput,
        by clock: ClientClock, at now: Moment
    ) {
        let uptimes = input.place(rows.times[range]) { clock.uptime(of: $0, by: sleepWatch) }
        input.note(rows.times[range], at: now.monotonic)
        // A listener should know the fields before the first samples come.
        noteState(of: stream, at: now)
        var (first, rest) = (range.lowerBound, uptimes[...])
        while let uptime = rest.first {
            // No batch goes over a sleep: it has one reading of the clocks.
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

    /// How a client's times lead to uptimes.
    ///
    /// Dates are believed, if they are near this machine's. Of other clocks the newest sample, or what the clock said when the
    /// message was sent, is taken for the moment of its arrival.
    func clock(newest: Int64, sentAt: Int64?, at now: Moment) -> ClientClock {
        let newest = sentAt ?? newest
        let date = now.date.nanosecondsSince1970
        if newest >= Self.firstDate, newest < date + Self.furthestAhead, newest > date - Self.furthestBehind,
            sentAt.map({ abs($0 - date) < Self.largestError }) ?? true
        {
            return ClientClock(date, at: now.monotonic, by: sleepWatch, continues: true)
        }
        return ClientClock(newest, at: now.monotonic, by: sleepWatch, continues: newest >= Self.firstDate)
    }
}
