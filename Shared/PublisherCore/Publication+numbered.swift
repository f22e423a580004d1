import Messages
import SampleSources

/// Clients that number their samples. The stream keeps their numbers, and messages wait for missing samples before them.
extension Publication {
    /// How far times may go back from one number to the next on the same clock, in nanoseconds.
    private static let largestStepBack = 5 * Nanoseconds.perSecond

    func push(_ samples: NumberedSamples, as request: Int, at now: Moment) throws(PushRefusal) {
        guard let run = try run(for: samples, at: now) else {
            // The client still has older samples, and this program has not seen them.
            return acknowledge(request, .wanted(next: samples.oldest ?? 0))
        }
        try requireRunning(run.published)
        guard run.input.hasFields(of: samples.rows) else {
            throw PushRefusal(
                .conflict,
                "\(run.published.name) has the fields \(run.input.fields.dropFirst().joined(separator: ", ")): begin another epoch "
                    + "for others")
        }
        let first = run.published.firstSequence
        guard samples.first >= first else {
            // Its first samples were overtaken by the message that began the run here: an answer must not call them safe.
            throw PushRefusal(
                .tooLate,
                "\(samples.name) began with \(first) here: samples before it came too late; send from \(first) on",
                next: first)
        }
        if samples.end <= run.queue.next {
            if samples.isLast { end(run, at: now) }
            return accept(request, again: true, .accepted(next: run.queue.next))
        }
        // Repeated samples may have the times of an earlier clock.
        if let newest = samples.rows.times.last {
            note(newest: newest, sentAt: samples.sentAt, on: run.clock, at: now)
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

    /// A message that was replaced in the queue by a duplicate: the client of the first one must send it again.
    private func acceptLater(_ request: Int, _ run: PushState.NumberedRun) {
        acknowledge(request, .wanted(next: run.queue.next))
    }

    private func publishWaiting(of run: PushState.NumberedRun, at now: Moment) {
        while let waiting = run.queue.pop() {
            let known = max(0, run.queue.next - waiting.range.lowerBound)
            if known < waiting.range.count {
                publish(waiting.message, from: known, arrivedAt: waiting.at, of: run, at: now)
                run.queue.advance(to: waiting.range.upperBound)
            }
            if waiting.message.isLast { end(run, at: now) }
            accept(waiting.request, .accepted(next: run.queue.next))
        }
    }

    /// Publishes the rows of a message from `first` on. Where their times go back, a clock without dates begins anew:
    /// the device's counter wrapped, or its clock was set.
    private func publish(
        _ samples: NumberedSamples, from first: Int, arrivedAt arrival: Int64, of run: PushState.NumberedRun,
        at now: Moment
    ) {
        let rows = samples.rows
        var first = first
        for (row, time) in rows.times.enumerated().dropFirst(first) where !run.clock.isDate {
            guard let last = row > first ? rows.times[row - 1] : run.input.lastTime,
                time < last.subtractingClamped(Self.largestStepBack)
            else { continue }
            if row > first { publish(rows, first..<row, of: run, at: now) }
            first = row
            // It may have waited for its predecessors.
            let date = now.date.adding(arrival - now.monotonic)
            changeClock(of: run, with: samples, at: Moment(monotonic: arrival, date: date, slept: now.slept))
        }
        publish(rows, first..<rows.count, of: run, at: now)
    }

    /// Publishes rows whose times do not go back.
    private func publish(_ rows: PushedRows, _ range: Range<Int>, of run: PushState.NumberedRun, at now: Moment) {
        if let newest = rows.times[range].last { takeNewerClock(of: run, newest: newest, at: now) }
        publish(rows, range, of: run.published, run.input, by: run.clock, at: now)
    }

    /// Takes the clock that another stream of the same device and epoch has begun, if the newest time agrees with it
    /// and is old by the run's own: a wrong time far ahead had moved the run's own.
    private func takeNewerClock(of run: PushState.NumberedRun, newest: Int64, at now: Moment) {
        guard let known = pushes.clocks[run.published.name.device], known.epoch == run.epoch,
            known.clock !== run.clock, known.clock.agrees(newest, at: now.monotonic, by: sleepWatch),
            run.clock.lead(of: newest, at: now.monotonic, by: sleepWatch) < -Self.largestStepBack
        else { return }
        run.clock = known.clock
        run.input.forgetTimes()
    }

    /// Begins another clock with a message, unless another stream of the same device and epoch has begun it. A stream
    /// keeps the former clock until its own times go back, or only the other clock fits: its samples from before may
    /// arrive later.
    private func changeClock(of run: PushState.NumberedRun, with samples: NumberedSamples, at arrival: Moment) {
        let known = pushes.clocks[samples.name.device]
        if let known, known.epoch == samples.epoch, known.clock !== run.clock {
            run.clock = known.clock
        } else {
            run.clock = clock(newest: samples.rows.times.last ?? 0, sentAt: samples.sentAt, at: arrival)
            if let epoch = samples.epoch { pushes.clocks[samples.name.device] = (epoch, run.clock) }
        }
        run.input.forgetTimes()
    }

    /// Marks the stream as ended: a client that has announced its end is not silent.
    private func end(_ run: PushState.NumberedRun, at now: Moment) {
        run.input.end()
        noteState(of: run.published, at: now)
    }

    func giveUpMissing(of run: PushState.NumberedRun, at now: Moment) {
        while let missing = run.queue.missing(at: now.monotonic) {
            skip(to: missing.upperBound, of: run, .notInSource)
            publishWaiting(of: run, at: now)
        }
    }

    private func skip(to number: Int, of run: PushState.NumberedRun, _ reason: Gap.Reason) {
        run.published.skip(to: number, reason)
        run.input.noteGap()
        run.queue.advance(to: number)
    }

    /// The run that a message belongs to; nil if the client must begin with older samples.
    private func run(for samples: NumberedSamples, at now: Moment) throws(PushRefusal) -> PushState.NumberedRun? {
        let known = pushes.runs[samples.name]
        guard known != nil || !pushes.names.contains(samples.name) else {
            throw PushRefusal(
                .conflict, "\(samples.name) is pushed by a client that does not number its samples: choose another name"
            )
        }
        if let known, !isAnother(samples, than: known, at: now) { return known }
        if let epoch = samples.epoch, hasEnded(epoch, of: samples.name) {
            throw PushRefusal(.tooLate, "\(samples.name) has begun another epoch since \(epoch)")
        }
        if let oldest = samples.oldest, oldest < samples.first { return nil }
        let epoch = samples.epoch.map { "\($0)@\(settings.machine)" } ?? anotherEpoch()
        let input = PushedInput(
            fields: samples.rows.fields, types: samples.rows.types, unit: samples.unit, rate: samples.rate,
            description: samples.description ?? "pushed by a client that numbers its samples", at: now.monotonic)
        let published = try begin(
            samples.name, input, epoch: epoch, clientEpoch: samples.epoch, next: samples.first, at: now)
        let run = PushState.NumberedRun(
            published, input, epoch: samples.epoch, next: samples.first,
            beginning: samples.first == 0 ? PushedSample(first: samples.rows) : nil,
            first: (samples.rows.times.first ?? 0, now.monotonic), clock: clock(of: samples, at: now))
        for one in known?.queue.removeAll() ?? [] {
            refuse(one.request, PushRefusal(.tooLate, "\(samples.name) has begun another epoch"))
        }
        pushes.runs[samples.name] = run
        return run
    }

    /// Whether the client is known to have begun a later epoch.
    private func hasEnded(_ epoch: String, of name: StreamName) -> Bool {
        let former = pushes.former.filter { $0.name == name }
        // If the stream was removed to make room, its last epoch may still continue.
        return former.dropLast(indexes[name] == nil ? 1 : 0).contains { $0.clientEpoch == epoch }
    }

    /// Whether the client has restarted its numbering.
    private func isAnother(_ samples: NumberedSamples, than run: PushState.NumberedRun, at now: Moment) -> Bool {
        if samples.epoch != nil || run.epoch != nil { return samples.epoch != run.epoch }
        guard samples.first == 0, run.queue.next > 0, let sample = PushedSample(first: samples.rows) else {
            return false
        }
        if let beginning = run.beginning { return sample != beginning }
        return !run.hasOvertaken(sample, at: now.monotonic)
    }

    /// The client's clock, shared by all streams of one epoch of its device.
    private func clock(of samples: NumberedSamples, at now: Moment) -> ClientClock {
        let newest = samples.rows.times.max() ?? 0
        guard let epoch = samples.epoch else { return clock(newest: newest, sentAt: samples.sentAt, at: now) }
        if let known = pushes.clocks[samples.name.device], known.epoch == epoch { return known.clock }
        let clock = clock(newest: newest, sentAt: samples.sentAt, at: now)
        if pushes.clocks.count >= PushState.maximumStreams { pushes.clocks = [:] }
        pushes.clocks[samples.name.device] = (epoch, clock)
        return clock
    }
}
