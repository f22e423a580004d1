import Messages
import RecorderCore
import Recording

/// The clients' requests for sessions.
extension Simulation {
    func beginSession() throws {
        guard let recorder, !isOver else { return }
        guard recorder.isRunning, clock.sleep == nil, relays != nil || publishers.allSatisfy(\.isAwake) else {
            return later(500_000_000...500_000_000) { [self] in try beginSession() }
        }
        guard let descriptions = descriptionsToBegin() else {
            return later(500_000_000...500_000_000) { [self] in try beginSession() }
        }
        counts.sessions += 1
        let identifier = try SessionIdentifier("s\(counts.sessions)")
        let names = descriptions.map { LogName(device: $0.device, stream: $0.stream) }
        let life = recorder.life
        let listed = now
        let begin = { [self] (answers: LogConfigurations.Answers) throws -> Void in
            guard recorder.isRunning, recorder.life == life else { return }
            let before = past.map { happens(0.7) ? Int64(number($0)) : 0 } ?? 0
            asked[identifier] =
                before > 0
                ? askedFromPast(before, descriptions, of: listed, answers)
                : Asked(
                    began: now, askedFor: now, listed: listed, firsts: oracle.places(of: descriptions),
                    configurations: answers.configurations)
            note("\(identifier) begins\(before > 0 ? " \(Double(before) / 1e9) s ago" : "")")
            try recorder.begin(
                identifier, before: before, format: format, root: root, from: descriptions, answers
            ) { [self] in asked[identifier]?.isAnswered = true }
        }
        if logManager == nil {
            try begin(LogConfigurations.Answers(isAway: true))
        } else {
            configurations(of: names, begin)
        }
        if faults.pauses { planPause() }
        if happens(0.6) {
            later(3_000_000_000...40_000_000_000) { [self] in
                stopSession(identifier)
                later(100_000_000...5_000_000_000) { [self] in try beginSession() }
            }
        }
    }

    /// The request for a session that begins in the past.
    private func askedFromPast(
        _ before: Int64, _ descriptions: [StreamDescription], of listed: Int64, _ answers: LogConfigurations.Answers
    ) -> Asked {
        counts.pasts += 1
        var firsts = oracle.places(of: descriptions)
        var formers: [StreamName: String] = [:]
        for (index, publisher) in publishers.enumerated() {
            // A publisher notices a sleep with its next batch: it counts what is in that one as taken before the sleep.
            let batch: Int64 = publisher.clock.slept(then: now - before) ? 1_000_000_000 : 0
            let start = Double(publisher.clock.monotonic(then: now - before) + batch) / 1e9
            for name in publisher.names {
                guard let (epoch, next) = firsts[name], let epochs = oracle.epochs[name] else { continue }
                firsts[name] = (epoch, min(next, epochs[epoch].first(from: start)))
                // The recorder must have heard of that run since its own start, not only of the run before.
                guard epoch > 0, let end = epochs[epoch - 1].end, let recorder,
                    epochs[epoch - 1].first(from: start) < epochs[epoch - 1].published,
                    let first = epochs[epoch - 1].batches.first?.time,
                    isHeard(.recorder, index, from: max(now - before, recorder.startedAt, first), to: end)
                else { continue }
                formers[name] = epochs[epoch - 1].name
            }
        }
        return Asked(
            began: now - before, askedFor: now, listed: listed, firsts: firsts, formers: formers,
            configurations: answers.configurations
        )
    }

    func stopSession(_ identifier: SessionIdentifier) {
        guard clock.sleep == nil, recorder?.stop(identifier) == true else { return }
        note("\(identifier) is stopped")
        asked[identifier]?.stopped = now
    }

    /// Notes the samples with which a session ends.
    func noteEnd(of identifier: SessionIdentifier, _ descriptions: [StreamDescription]) {
        let places = oracle.places(of: descriptions)
        asked[identifier]?.lasts = places
        for (name, place) in places { asked[identifier]?.answers[name, default: []].append(place) }
    }

    func planPause() {
        later(500_000_000...8_000_000_000) { [self] in
            guard !isOver else { return }
            defer { planPause() }
            if clock.sleep != nil { return }
            let acknowledge = { [self] (record: SessionRecord) -> Void in
                counts.acknowledged += 1
                asked[record.session]?.acknowledged = record
            }
            if happens(0.3) {
                try recorder?.annotate("a\(number(1...9))", age: Int64(number(0...3_000)) * 1_000_000, acknowledge)
            } else if happens(0.7) {
                try recorder?.pauseOrResume(acknowledge)
            } else {
                // Few enough names that some are repeated.
                recorder?.move(to: "s\(number(1...9) % 4)", acknowledge)
            }
        }
    }

    /// Periodically sends log-manager a request.
    func askLogManager() {
        later(500_000_000...8_000_000_000) { [self] in
            guard !isOver else { return }
            defer { askLogManager() }
            if clock.sleep == nil { try logManager?.askForSomething() }
        }
    }
}
