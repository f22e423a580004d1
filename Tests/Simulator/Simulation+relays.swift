import MessageBus
import Messages
import RelayCore

/// Relays between the publishers and the recorder, in runs that have them: their connections, and the expectations.
extension Simulation {
    /// Adds servers and relays. The recorder hears the relay at the centre, and no publisher.
    func addRelays() throws {
        relays = try SimulatedRelays(in: data, of: self)
    }

    func startRelays() throws {
        guard let relays else { return }
        for site in relays.sending.indices { try startSendingRelay(site) }
        startServingRelay()
        planRelayFaults()
    }

    // MARK: The centre

    /// Sends an event of the relay at the centre to the recorder.
    func sendServed(_ event: SimulatedPublisher.Event) {
        guard let recorder, recorder.isRunning, let connection = connections[.recorder]?[0],
            connection.delivers(at: now)
        else { return }
        let time = connections[.recorder]?[0].arrival(sentAt: now, delay: Int64(number(100_000...2_000_000))) ?? now
        at(time) { [self, life = recorder.life] in
            try whenMachineAwake { [self] in
                guard recorder.isRunning, recorder.life == life, connections[.recorder]?[0].isCut == false else {
                    return
                }
                try recorder.take(event)
            }
        }
    }

    /// Requests samples from the relay at the centre.
    /// - Parameter done: is given nil if the connection breaks.
    func requestServed(
        _ endpoint: String, _ request: SamplesReplay,
        _ done: @escaping ((answer: ReplaySchedule.Answer, frames: [[UInt8]])?) throws -> Void
    ) {
        guard let serving = relays?.serving, endpoint == serving.endpoint else { return }
        counts.replays += 1
        func lose() { later(1_000_000...1_500_000_000) { try done(nil) } }
        later(200_000...3_000_000) { [self] in
            guard connections[.recorder]?[0].isOpen(at: now) == true, serving.isRunning else { return lose() }
            try whenMachineAwake { [self] in
                guard serving.isRunning else { return lose() }
                let life = serving.life
                var isDone = false
                // A program that ends closes its connections.
                later(2_000_000_000...2_000_000_000) { if !isDone, serving.life != life { lose() } }
                try serving.answer(request) { [self] answer in
                    isDone = true
                    later(200_000...5_000_000) { [self] in
                        if connections[.recorder]?[0].isCut == true { lose() } else { try done(answer) }
                    }
                }
            }
        }
    }

    func listServed(_ done: @escaping ([StreamDescription]) throws -> Void) {
        later(200_000...3_000_000) { [self] in
            let isReached = connections[.recorder]?[0].delivers(at: now) == true
            let descriptions = isReached ? relays?.serving.list() ?? [] : []
            later(200_000...5_000_000) { try done(descriptions) }
        }
    }

    /// The streams of a session that begins now; nil if it can't begin yet.
    func descriptionsToBegin() -> [StreamDescription]? {
        guard let relays else {
            let descriptions = publishers.flatMap { $0.list() }
            // A publisher may have ended while it answered.
            return publishers.allSatisfy(\.isRunning) ? descriptions : nil
        }
        let descriptions = relays.serving.list()
        let isWhole = descriptions.count == publishers.reduce(0) { $0 + $1.names.count }
        return isWhole || now > 15_000_000_000 && !descriptions.isEmpty ? descriptions : nil
    }

    // MARK: Judging

    /// Whether a gap may include a publisher's sample.
    /// - Parameter isCounted: whether the gap's length is known. If not, the recorder did not know what to request.
    func mayLoseRelayed(
        _ name: StreamName, _ index: Int, _ epoch: Oracle.Epoch, _ sequence: Int, _ isCounted: Bool, _ asked: Asked
    ) -> Bool {
        guard let relays, let batch = epoch.batch(of: sequence) else { return false }
        guard let stored = relays.storedAt(sequence, of: epoch.name, name) else {
            return !couldSend(index, epoch, batch)
        }
        // A stopped session waits at most this long for missing samples.
        var end = asked.stopped.map { $0 + SimulatedRecorder.recoveryLimit } ?? .max
        if !isCounted { end = min(end, relays.leftAt(epoch.name, of: name) ?? .max) }
        return !couldHave(.recorder, 0, from: max(stored, asked.askedFor), to: end)
    }

    /// Whether a sample may be missing without a gap. It must be at the end of its run. In addition, either it did not reach the
    /// site's relay, or the recorder did not hear the relay at the centre between that end and the next run's samples.
    func mayBeUnknown(_ name: StreamName, _ index: Int, _ epoch: Oracle.Epoch, _ sequence: Int) -> Bool {
        guard let relays, let batch = epoch.batch(of: sequence) else { return false }
        if relays.storedAt(sequence, of: epoch.name, name) == nil {
            let end = relays.servers.samples[name]?[epoch.name]?.map(\.range.upperBound).max() ?? 0
            return sequence >= end && (epoch.mayEndUnheard(sequence) || !couldSend(index, epoch, batch))
        }
        guard let served = relays.servedAt(sequence, of: epoch.name, name),
            let left = relays.leftAt(epoch.name, of: name)
        else { return false }
        return !isHeard(.recorder, 0, from: served, to: left)
    }

    /// Whether a site's relay had time to get a batch, and did not lose it with its disk.
    private func couldSend(_ index: Int, _ epoch: Oracle.Epoch, _ batch: Oracle.Batch) -> Bool {
        let end = min(epoch.end ?? .max, batch.time + publishers[index].plan.retention, batch.forgotten)
        let lost = relays?.relay(of: index).diskLost ?? .min
        return couldHave(.relay, index, from: max(batch.time, lost), to: end)
    }

    // MARK: The end

    /// Ends all faults, and waits until everything is published at the centre.
    func restRelays() throws {
        guard let relays else { return }
        try endRelayFaults()
        var unrest: String?
        for second in 0..<90 where violations.isEmpty {
            try advance(until: now + 1_000_000_000)
            for site in relays.sending.indices { try startSendingRelay(site) }
            startServingRelay()
            unrest = relayUnrest()
            if second > 2, unrest == nil { return }
        }
        if violations.isEmpty { violate("in the end \(unrest ?? "the relays do not rest")") }
    }

    private func relayUnrest() -> String? {
        var ends: [StreamName: (epoch: String, next: Int)] = [:]
        for description in relays?.serving.list() ?? [] {
            ends[description.name] = (description.epoch, description.nextSequence)
        }
        for publisher in publishers where publisher.isRunning {
            for name in publisher.names {
                guard let epoch = oracle.epochs[name]?.last,
                    let expected = epoch.batches.last(where: { $0.time < now - 5_000_000_000 })?.end
                else { continue }
                guard let end = ends[name], end.epoch == epoch.name, end.next >= expected else {
                    return "\(name) is at \(expected), and the centre at \(ends[name].map { "\($0)" } ?? "nothing")"
                }
            }
        }
        return nil
    }
}
