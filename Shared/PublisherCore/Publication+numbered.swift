import Messages
import SampleSources

/// Clients that number their samples. The stream keeps their numbers, and messages wait for missing samples before them.
extension Publication {
    func push(_ samples: NumberedSamples, as request: Int, at now: Moment) throws(PushRefusal) {
        guard let run = try run(for: samples, at: now) else {
            // The client still has older samples, and this program has not seen them.
            return acknowledge(request, .wanted(next: samples.oldest ?? 0))
        }
        try requireRunning(run.published)
        if let newest = samples.rows.times.max() {
            note(newest: newest, sentAt: samples.sentAt, on: run.clock, at: now)
        }
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
                let rows = waiting.message.rows
                publish(rows, known..<rows.count, of: run.published, run.input, by: run.clock, at: now)
                run.queue.advance(to: waiting.range.upperBound)
            }
            if waiting.message.isLast { end(run, at: now) }
            accept(waiting.request, .accepted(next: run.queue.next))
        }
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
