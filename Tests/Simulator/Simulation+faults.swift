import Messages
import SystemPackage

/// The injection of faults.
extension Simulation {
    func planFaults() {
        later(faults.pause) { [self] in
            guard !isOver else { return }
            try injectFault()
            planFaults()
        }
    }

    func injectFault() throws {
        let index = number(0...(publishers.count - 1))
        faultCount += 1
        if skipped.contains(faultCount) { return }
        switch number(0...14) {
        case 0 where faults.kills && !asked.isEmpty:
            let cutsPower = faults.powerCuts && happens(0.4)
            if faults.moments, happens(0.5) {
                recorder?.end(after: number(0...40), cutsPower: cutsPower)
            } else {
                try killRecorder(cutsPower: cutsPower)
            }
        case 1 where faults.publisherKills && publishers[index].isRunning:
            note("\(publishers[index].plan.device) is to be killed")
            // Among its next effects, or at once.
            if happens(0.5) { publishers[index].kill(after: number(0...4)) } else { publisherEnded(index) }
        case 2 where faults.cuts:
            let listener = listeners[number(0...listeners.count - 1)]
            guard connections[listener]?[index].isCut == false else { break }
            counts.cuts += 1
            connections[listener]?[index].isCut = true
            note("\(publishers[index].plan.device) is disconnected from \(listener)")
            later(50_000_000...5_000_000_000) { [self] in
                connections[listener]?[index].isCut = false
                note("\(publishers[index].plan.device) is connected to \(listener)")
                connections[listener]?[index].standsFrom = now + Int64(number(10_000_000...300_000_000))
            }
        case 3 where faults.drops:
            counts.drops += 1
            let listener = listeners[number(0...listeners.count - 1)]
            let end = now + Int64(number(1_000_000...800_000_000))
            connections[listener]?[index].dropsUntil = end
            note("\(publishers[index].plan.device) drops for \(listener) until \(Double(end) / 1e9) s")
        case 4 where faults.failures && recorder?.isRunning == true:
            counts.failures += 1
            let (error, count) = (happens(0.5) ? Errno.noSpace : .ioError, happens(0.5) ? 1 : number(2...20))
            disk?.fail(count, after: number(0...40), with: error)
            note("the disk fails \(count) times: \(error)")
        case 6 where faults.logManagerKills && logManager?.isRunning == true:
            // Among its next effects, or at once.
            if happens(0.5) { logManager?.kill(after: number(0...20)) } else { logManagerEnded() }
        case 7 where faults.drops && logManager != nil:
            logManagerLink.dropsUntil = now + Int64(number(1_000_000...5_000_000_000))
            note("log-manager misses events until \(Double(logManagerLink.dropsUntil) / 1e9) s")
            later(5_000_000_000...6_000_000_000) { [self] in logManager?.noteReconnect() }
        case 8 where faults.archiverKills && archiver?.isRunning == true:
            if happens(0.5) { archiver?.kill(after: number(0...10)) } else { archiverEnded() }
        case 10...14: try injectRareFault(index)
        case 9 where faults.stepCounterKills && stepCounter?.isRunning == true:
            if happens(0.3) { try stepCounter?.stop() }
            try stepCounterEnded()
        default: break
        }
    }

    /// Injects faults of machines and of the network, and double faults.
    private func injectRareFault(_ index: Int) throws {
        let device = publishers[index].plan.device
        switch number(0...5) {
        case 0 where faults.partitions:
            counts.partitions += 1
            let end = now + Int64(number(1...12)) * 1_000_000_000
            note("nobody reaches \(device) until \(Double(end) / 1e9) s")
            for listener in listeners { connections[listener]?[index].standsFrom = end }
        case 1 where faults.slowReaders:
            counts.slowReaders += 1
            let listener = listeners[number(0...listeners.count - 1)]
            let end = now + Int64(number(100_000_000...4_000_000_000))
            note("\(listener) takes nothing of \(device) until \(Double(end) / 1e9) s")
            connections[listener]?[index].heldUntil = end
            // Messages that do not fit are dropped.
            if happens(0.3) { connections[listener]?[index].dropsUntil = end }
        case 2 where faults.sleeps && publishers[index].isAwake:
            counts.sleeps += 1
            let end = now + Int64(number(100_000_000...8_000_000_000))
            note("the machine of \(device) sleeps until \(Double(end) / 1e9) s")
            publishers[index].clock.fallAsleep(at: now, until: end)
            at(end) { [self] in publishers[index].clock.wake(at: now) }
        case 3 where faults.sleeps && clock.sleep == nil:
            counts.sleeps += 1
            let end = now + Int64(number(100_000_000...8_000_000_000))
            note("the recorder's machine sleeps until \(Double(end) / 1e9) s")
            clock.fallAsleep(at: now, until: end)
            stepCounter?.fallAsleep()
            at(end) { [self] in clock.wake(at: now) }
        case 4 where faults.jumps:
            counts.jumps += 1
            let jump = Int64(number(-1_200...1_200)) * 1_000_000_000
            if happens(0.5) {
                note("the clock of \(device) jumps by \(jump / 1_000_000_000) s")
                publishers[index].clock.ahead += jump
            } else {
                note("the recorder's clock jumps by \(jump / 1_000_000_000) s")
                clock.ahead += jump
            }
        case 5 where faults.kills && faults.publisherKills && !asked.isEmpty:
            counts.doubleKills += 1
            publisherEnded(index)
            try killRecorder(cutsPower: faults.powerCuts && happens(0.5))
        default: break
        }
    }

    func stepCounterEnded() throws {
        guard let stepCounter, stepCounter.isRunning else { return }
        counts.stepCounterKills += 1
        note("step-counter is killed")
        try stepCounter.kill()
        later(20_000_000...4_000_000_000) { [self] in try whenMachineAwake { [self] in try startStepCounter() } }
    }

    func startStepCounter() throws {
        guard let stepCounter, !stepCounter.isRunning else { return }
        try stepCounter.start()
        note("step-counter runs")
        for index in publishers.indices {
            connections[.stepCounter]?[index].standsFrom = now + Int64(number(1_000_000...300_000_000))
        }
    }

    /// Call this when the archiver ends.
    func archiverEnded() {
        guard let archiver, archiver.isRunning else { return }
        counts.archiverKills += 1
        note("the archiver is killed")
        archiver.kill()
        later(20_000_000...4_000_000_000) { [self] in try whenMachineAwake { [self] in try startArchiver() } }
    }

    func startArchiver() throws {
        guard let archiver, !archiver.isRunning else { return }
        try archiver.start()
        note("the archiver \(archiver.isRunning ? "runs" : "does not run")")
    }

    /// Call this when log-manager ends.
    func logManagerEnded(cutsPower: Bool = false) {
        guard let logManager, logManager.isRunning else { return }
        counts.logManagerKills += 1
        note("log-manager is killed")
        logManager.kill(cutsPower: cutsPower)
        later(20_000_000...4_000_000_000) { [self] in try whenMachineAwake { [self] in try startLogManager() } }
    }

    func startLogManager() throws {
        guard let logManager, !logManager.isRunning else { return }
        try logManager.start()
        note("log-manager \(logManager.isRunning ? "runs" : "does not run")")
        logManagerLink = Connection()
        logManagerLink.standsFrom = now + Int64(number(1_000_000...300_000_000))
    }

    /// Call this when a publisher ends.
    func publisherEnded(_ index: Int) {
        guard publishers[index].isRunning else { return }
        counts.publisherKills += 1
        note("\(publishers[index].plan.device) is killed")
        publishers[index].kill()
        later(100_000_000...6_000_000_000) { [self] in
            try whenAwake(index) { [self] in
                if !publishers[index].isRunning { try start(index) }
            }
        }
    }

    func killRecorder(cutsPower: Bool) throws {
        guard let recorder, recorder.isRunning else { return }
        counts.kills += 1
        note(cutsPower ? "the power is cut" : "the recorder is killed")
        if cutsPower { try cutPower() }
        try recorder.kill(cutsPower: cutsPower)
        later(20_000_000...3_000_000_000) { [self] in try whenMachineAwake { [self] in try startRecorder() } }
    }

    /// Ends the other programs on the recorder's machine.
    private func cutPower() throws {
        counts.powerCuts += 1
        logManagerEnded(cutsPower: true)
        endServingRelay()
        archiverEnded()
        try stepCounterEnded()
    }

    /// Call this when the recorder ended in a call.
    func recorderEnded(cutsPower: Bool) throws {
        counts.kills += 1
        counts.callKills += 1
        note("the recorder ends in a call\(cutsPower ? ", and the power is cut" : "")")
        if cutsPower { try cutPower() }
        later(20_000_000...1_000_000_000) { [self] in try whenMachineAwake { [self] in try startRecorder() } }
    }

    func startRecorder() throws {
        guard let recorder, !recorder.isRunning else { return }
        try recorder.start()
        note("the recorder \(recorder.isRunning ? "runs" : "does not run")")
        for index in publishers.indices {
            connections[.recorder]?[index].standsFrom = now + Int64(number(20_000_000...300_000_000))
        }
    }
}
