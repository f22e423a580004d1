import Messages
import Recording
import SystemPackage

/// The end of a run, and what must be true then.
extension Simulation {
    /// For a publisher that could not be asked when its session was stopped: how long before that, in nanoseconds, the publisher
    /// may have been silent without the session having to report it.
    private static let unaskedSilence: Int64 = 5_000_000_000

    func finish() throws {
        guard let recorder, violations.isEmpty else { return }
        // Everything works again, and every program runs.
        disk?.endFailures()
        let asleep = publishers.map(\.clock.sleep) + [clock.sleep]
        if let end = asleep.compactMap(\.?.upperBound).max() { try advance(until: end) }
        for index in publishers.indices {
            for listener in Listener.allCases {
                connections[listener]?[index].isCut = false
                connections[listener]?[index].dropsUntil = 0
            }
            for listener in Listener.allCases { connections[listener]?[index].heldUntil = 0 }
            if !publishers[index].isRunning { try start(index) }
        }
        for _ in 0..<100 where !recorder.isRunning {
            try startRecorder()
            try advance(until: now + 1_000_000_000)
        }
        try advance(until: now + 3_000_000_000)
        try restRelays()
        let turns = relays == nil ? 600 : 2_400
        for turn in 0..<turns where violations.isEmpty && !recorder.isDone {
            // A killed recorder may not know that it was asked to stop them.
            for identifier in asked.keys.sorted() { stopSession(identifier) }
            // A stored end must survive everything, too. But an end may take time: 10 s for missing samples, and 60 s for those
            // that a relay finds slowly.
            if faults.kills, turn < 300, happens(0.02) { try killRecorder(cutsPower: faults.powerCuts && happens(0.4)) }
            try advance(until: now + 100_000_000)
        }
        try rest()
        for (identifier, session) in asked.sorted(by: { $0.key < $1.key }) where violations.isEmpty {
            try judge(identifier, session)
        }
    }

    /// Lets log-manager and archiver come to rest.
    private func rest() throws {
        if logManager == nil, archiver == nil, stepCounter == nil { return }
        try advance(until: now + 5_000_000_000)
        try restStepCounter()
        // Their samples no longer matter.
        for publisher in publishers { publisher.fallSilent() }
        archiver?.receiver.faults = 0
        var unrest: String?
        for second in 0..<400 where violations.isEmpty {
            try startLogManager()
            try startArchiver()
            // They may have missed an event, or given up.
            if second % 10 == 0 {
                logManager?.noteReconnect()
                for session in asked.keys.sorted() { try archiver?.hurry(session) }
            }
            try advance(until: now + 1_000_000_000)
            unrest = try archiver?.unrest(of: asked.keys.sorted()) ?? logManager?.unrest()
            if second > 5, unrest == nil { return }
        }
        if violations.isEmpty { violate("in the end \(unrest ?? "the programs do not rest")") }
    }

    /// Lets step-counter count everything published, and judges its steps.
    private func restStepCounter() throws {
        guard let stepCounter else { return }
        for publisher in publishers { publisher.finish() }
        stepCounter.faults = 0
        var unrest: String?
        for second in 0..<120 where violations.isEmpty {
            try startStepCounter()
            try advance(until: now + 1_000_000_000)
            unrest = try stepCounter.unrest()
            if second > 2, unrest == nil { return try stepCounter.judge() }
        }
        if violations.isEmpty { violate("in the end \(unrest ?? "step-counter does not rest")") }
    }

    private func judge(_ identifier: SessionIdentifier, _ session: Asked) throws {
        guard let directory = try? SessionDirectory.open(identifier, in: data.appending("data")) else {
            if session.isAnswered { violate("\(identifier) is gone") }
            return
        }
        guard directory.hasChecksums else { return violate("\(identifier) does not come to its end") }
        let record = try directory.record()
        for log in record.logs {
            note("\(log.name): epochs \(log.epochs.map { "\($0.epoch) \($0.from)..<\($0.next) end \($0.end as Any)" })")
            note("\(log.name): gaps \(log.gaps.map { "\($0.epoch) \($0.from) + \($0.count) \($0.reason.rawValue)" })")
        }
        // If the disk refuses both the log and the files, only the data that they have can be expected.
        let mayDiffer = record.status == .failed && counts.failures > 0
        for finding in directory.verify().findings where finding.verdict > .loss && !mayDiffer {
            violate("verify says: \(finding)")
        }
        counts.judged += 1
        guard session.isAnswered else { return }
        let isSound = record.status == .finished
        guard isSound || mayDiffer && !record.failures.isEmpty else {
            return violate("\(identifier) ended as \(record.status): \(record.failures)")
        }
        if let known = session.acknowledged, isSound, !record.continues(known) {
            violate("\(identifier): a step, a pause or an annotation is gone that was answered")
        }
        for (name, first) in session.firsts.sorted(by: { $0.key.description < $1.key.description }) {
            guard let log = record.logs.first(where: { $0.device == name.device && $0.stream == name.stream }),
                let index = publishers.firstIndex(where: { $0.plan.device == name.device })
            else {
                if isSound { violate("\(name) has no log") }
                continue
            }
            if case .some(.some(let configuration)) = session.configurations[log.name] {
                counts.checks.configurations += 1
                if record.isFormatDefault == true, let format = configuration.format,
                    record.format(of: log).rawValue != format
                {
                    violate("\(log.name) is not written as log-manager says, but as \(record.format(of: log))")
                }
            }
            let (plan, clock) = (publishers[index].plan, publishers[index].clock)
            counts.logs += 1
            if let former = session.formers[name], !log.gaps.contains(where: { $0.epoch == former }) {
                violate(
                    "\(identifier): the run \(former) of \(name) is in no gap, of which the session's past has a part")
            }
            if isSound {
                for gap in log.gaps where recorder?.hasPublished(gap, of: name, in: identifier) == false {
                    violate("\(identifier): no event names the gap \(gap.from) + \(gap.count) of \(gap.epoch), \(name)")
                }
            }
            // A clock that is ahead, or an old description, makes the past longer, as does a sleep after what relays stored.
            let longer =
                max(0, clock.ahead) + (relays == nil ? 0 : clock.slept(until: now)) + session.askedFor - session.listed
                + 100_000_000
            let start = clock.monotonic(then: session.began) - longer
            let absences = record.absences(of: name)
            // For a publisher that could not be asked: its samples are there, or the session reports an unknown end. Behind a
            // relay, a session has the samples that arrived.
            let stored = session.answers[name]?.first { oracle.isEnd($0, of: log) }
            let answered = stored ?? session.lasts?[name]
            let isUnasked = answered == nil
            let asked = relays == nil ? session.stopped : nil
            let unaskedEnd = asked.flatMap { oracle.place(of: name, at: $0 - Self.unaskedSilence) }
            let judgement = try oracle.judge(
                log, of: record, in: directory, first: first,
                earliest: session.isFromPast ? Double(start) / 1e9 : nil,
                last: isSound ? answered ?? unaskedEnd : nil,
                removed: data.appending("attic").appending("removed").appending(identifier.text)
            ) {
                isPaused(
                    absences, at: $0 - Double(clock.uptime - clock.ahead + session.began) / 1e9,
                    ahead: max(0, Double(clock.ahead) / 1e9))
            } mayBeUnknown: { [self] epoch, sequence in
                relays.map { _ in mayBeUnknown(name, index, epoch, sequence) }
            } mayLose: { [self] epoch, sequence, isCounted in
                // A failed session waits for nothing.
                guard isSound, isCounted || !isUnasked else { return true }
                if relays != nil { return mayLoseRelayed(name, index, epoch, sequence, isCounted, session) }
                // The publisher was killed, or removed the samples, before they could be replayed.
                guard let batch = epoch.batch(of: sequence) else { return false }
                // A stopped session waits at most this long for missing samples.
                let wait = session.stopped.map { $0 + SimulatedRecorder.recoveryLimit }
                let end = min(epoch.end ?? .max, batch.time + plan.retention, batch.forgotten, wait ?? .max)
                // The session had failed at that time, and the failure could not be stored before a kill.
                let late = min(end, batch.time + 15_000_000_000)
                let failures = recorder?.failures[identifier.text] ?? []
                if failures.contains(where: { $0.lowerBound < late && $0.upperBound > batch.time }) { return true }
                return !couldHave(.recorder, index, from: max(batch.time, session.askedFor), to: end)
            }
            // Also of runs that the session no longer lists, unless it failed and could not store them.
            let places = recorder?.durable[identifier]?[name] ?? [:]
            for (epoch, durable) in places.sorted(by: { $0.key < $1.key }) where !mayDiffer || !record.hasLeftOut {
                let next = log.epochs.first { $0.epoch == epoch }?.next
                if next == nil, mayDiffer { continue }
                counts.durable += 1
                if next ?? 0 < durable {
                    violate("\(identifier): \(name) had \(durable) samples of \(epoch) durable, and has \(next ?? 0)")
                }
            }
            counts.samples += judgement.samples
            counts.lost += judgement.lost
            for violation in judgement.violations.prefix(3) { violate("\(identifier): \(violation)") }
        }
    }

    /// Whether samples taken at a time since the session's start are left out; nil if undecided: with a clock that is ahead, a
    /// sample may arrive before the request to pause.
    private func isPaused(_ absences: [(start: Double, end: Double)], at time: Double, ahead: Double) -> Bool? {
        let tolerance = 1e-5
        func isAt(_ edge: Double) -> Bool { time > edge - tolerance && time < edge + ahead + tolerance }
        var isInside = false
        for (start, end) in absences {
            if isAt(start) || isAt(end) { return nil }
            if time > start, time < end { isInside = true }
        }
        return isInside
    }
}

extension SessionRecord {
    /// Whether samples that arrived may have been left out.
    var hasLeftOut: Bool { choices != nil || !pauses.isEmpty }

    /// The times, in seconds since the session's start, at which samples of a stream are left out.
    fileprivate func absences(of stream: StreamName) -> [(start: Double, end: Double)] {
        var absences: [(start: Double, end: Double)] = pauses.filter { $0.stream ?? stream == stream }
            .map { ($0.from, $0.to ?? .infinity) }
        guard let choice = choice(of: stream) else { return absences }
        // Each step decides anew, from the session's stream choices alone.
        let names = [step] + steps.map(\.step)
        let times = [-Double.infinity] + steps.map(\.timestamp) + [.infinity]
        for index in names.indices {
            let begin = choice.fromStep == nil ? 0 : names[...index].lastIndex { $0 == choice.fromStep }
            let isRecorded = begin.map { begin in
                !(begin..<index).contains { names[$0] == choice.toStep && names[$0 + 1] != names[$0] }
            }
            if isRecorded != true { absences.append((times[index], times[index + 1])) }
        }
        return absences
    }

    /// Whether the record has all steps, pauses and annotations of an earlier one. Times on the disk have fewer digits.
    fileprivate func continues(_ earlier: SessionRecord) -> Bool {
        func isSame(_ one: Double, _ other: Double) -> Bool { abs(one - other) < 1e-3 }
        guard steps.count >= earlier.steps.count, pauses.count >= earlier.pauses.count else { return false }
        let hasSteps = zip(steps, earlier.steps).allSatisfy { now, before in
            now.step == before.step && isSame(now.timestamp, before.timestamp)
        }
        let hasPauses = zip(pauses, earlier.pauses).allSatisfy { now, before in
            isSame(now.from, before.from) && now.stream == before.stream
                && (before.to.map { end in now.to.map { isSame($0, end) } ?? false } ?? true)
        }
        let (notes, earlierNotes) = (annotations ?? [], earlier.annotations ?? [])
        // Each annotation once, despite all kills.
        let areNumbered = notes.map(\.number) == Array(0..<notes.count).map { $0 + 1 }
        let hasNotes = notes.count >= earlierNotes.count && zip(notes, earlierNotes).allSatisfy { $0.label == $1.label }
        return hasSteps && hasPauses && areNumbered && hasNotes
    }
}
