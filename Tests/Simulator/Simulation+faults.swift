import Messages
import SystemPackage

/// What goes wrong.
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
        switch number(0...8) {
        case 0 where faults.kills && !asked.isEmpty:
            try killRecorder(cutsPower: faults.powerCuts && happens(0.4))
        case 1 where faults.publisherKills && publishers[index].isRunning:
            note("\(publishers[index].plan.device) is to be killed")
            // Among what it publishes together, or at once.
            if happens(0.5) { publishers[index].kill(after: number(0...4)) } else { publisherEnded(index) }
        case 2 where faults.cuts:
            guard let listener = Listener.allCases.first(where: { connections[$0]?[index].isCut == false }) else {
                break
            }
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
            let listener = Listener.allCases[number(0...Listener.allCases.count - 1)]
            let end = now + Int64(number(1_000_000...800_000_000))
            connections[listener]?[index].dropsUntil = end
            note("\(publishers[index].plan.device) drops for \(listener) until \(Double(end) / 1e9) s")
        case 4 where faults.failures && recorder?.isRunning == true:
            counts.failures += 1
            let (error, count) = (happens(0.5) ? Errno.noSpace : .ioError, happens(0.5) ? 1 : number(2...20))
            disk?.fail(count, after: number(0...40), with: error)
            note("the disk fails \(count) times: \(error)")
        case 6 where faults.logManagerKills && logManager?.isRunning == true:
            // Among what it does next, or at once.
            if happens(0.5) { logManager?.kill(after: number(0...20)) } else { logManagerEnded() }
        case 7 where faults.drops && logManager != nil:
            logManagerLink.dropsUntil = now + Int64(number(1_000_000...5_000_000_000))
            note("log-manager misses events until \(Double(logManagerLink.dropsUntil) / 1e9) s")
            later(5_000_000_000...6_000_000_000) { [self] in logManager?.noteReconnect() }
        case 8 where faults.archiverKills && archiver?.isRunning == true:
            if happens(0.5) { archiver?.kill(after: number(0...10)) } else { archiverEnded() }
        default: break
        }
    }

    /// Is called where the archiver ends.
    func archiverEnded() {
        guard let archiver, archiver.isRunning else { return }
        counts.archiverKills += 1
        note("the archiver is killed")
        archiver.kill()
        later(20_000_000...4_000_000_000) { [self] in try startArchiver() }
    }

    func startArchiver() throws {
        guard let archiver, !archiver.isRunning else { return }
        try archiver.start()
        note("the archiver \(archiver.isRunning ? "runs" : "does not run")")
    }

    /// Is called where log-manager ends.
    func logManagerEnded(cutsPower: Bool = false) {
        guard let logManager, logManager.isRunning else { return }
        counts.logManagerKills += 1
        note("log-manager is killed")
        logManager.kill(cutsPower: cutsPower)
        later(20_000_000...4_000_000_000) { [self] in try startLogManager() }
    }

    func startLogManager() throws {
        guard let logManager, !logManager.isRunning else { return }
        try logManager.start()
        note("log-manager \(logManager.isRunning ? "runs" : "does not run")")
        logManagerLink = Connection()
        logManagerLink.standsFrom = now + Int64(number(1_000_000...300_000_000))
    }

    /// Is called where a publisher ends.
    func publisherEnded(_ index: Int) {
        guard publishers[index].isRunning else { return }
        counts.publisherKills += 1
        note("\(publishers[index].plan.device) is killed")
        publishers[index].kill()
        later(100_000_000...6_000_000_000) { [self] in
            if !publishers[index].isRunning { try start(index) }
        }
    }

    func killRecorder(cutsPower: Bool) throws {
        guard let recorder, recorder.isRunning else { return }
        counts.kills += 1
        if cutsPower { counts.powerCuts += 1 }
        note(cutsPower ? "the power is cut" : "the recorder is killed")
        // It is one machine.
        if cutsPower {
            logManagerEnded(cutsPower: true)
            archiverEnded()
        }
        try recorder.kill(cutsPower: cutsPower)
        later(20_000_000...3_000_000_000) { [self] in try startRecorder() }
    }

    /// Is called where the program ended by itself, in a call.
    func recorderEnded() {
        counts.kills += 1
        note("the recorder ends in a call")
        later(20_000_000...1_000_000_000) { [self] in try startRecorder() }
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
