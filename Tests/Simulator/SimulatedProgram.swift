import Messages

/// A program that can end at any moment and restart. It runs on the common machine, unlike publishers and the relays of sites.
protocol SimulatedProgram: AnyObject {
    var simulation: Simulation { get }
    var isRunning: Bool { get }
    /// The number of starts.
    var life: Int { get }
    /// The clock of the program's machine.
    var clock: MachineClock { get }

    /// Runs a closure once the program's machine is awake.
    func whenAwake(_ body: @escaping () throws -> Void) throws
    /// Handles an error of a scheduled closure.
    func fail(with error: any Error) throws
}

extension SimulatedProgram {
    var now: Moment { clock.moment(at: simulation.now) }

    var clock: MachineClock { simulation.clock }

    func whenAwake(_ body: @escaping () throws -> Void) throws { try simulation.whenMachineAwake(body) }

    func fail(with error: any Error) throws { throw error }

    /// Schedules a closure, unless the program has ended by then.
    func later(_ delay: ClosedRange<Int64>, _ body: @escaping () throws -> Void) {
        simulation.later(delay) { [weak self, life] in
            try self?.whenAwake {
                guard let self, self.isRunning, self.life == life else { return }
                do { try body() } catch { try self.fail(with: error) }
            }
        }
    }

    /// A replay client for one life of the program.
    func makeReplayClient(of listener: Simulation.Listener, limit: Int64) -> SimulatedReplayClient {
        SimulatedReplayClient(
            seed: simulation.seed(),
            SimulatedReplayClient.Program(
                later: { [unowned self] delay, body in later(delay, body) },
                now: { [unowned self] in now.monotonic },
                send: { [unowned self] endpoint, request, done in
                    simulation.request(listener, endpoint, request) { [weak self, life] answer in
                        guard let self, isRunning, self.life == life else { return }
                        try done(answer)
                    }
                },
                limit: limit, isRepeated: { [unowned self] in simulation.answersAgain() }))
    }
}

/// A program whose core determines when to wake it.
protocol WakingProgram: SimulatedProgram {
    /// When to wake the core, on the monotonic clock.
    var nextDeadline: Int64 { get }
    /// The time for which a wake-up is scheduled.
    var wakeTime: Int64 { get set }

    func wake() throws
}

extension WakingProgram {
    /// Schedules the core's wake-up, if its time changed. Call it after every call of the core.
    func planWake() {
        guard isRunning, nextDeadline != wakeTime else { return }
        wakeTime = nextDeadline
        let delay = max(wakeTime, now.monotonic) - now.monotonic
        later(delay...delay) { [self, wakeTime] in
            // Otherwise another wake-up has replaced this one.
            guard self.wakeTime == wakeTime else { return }
            self.wakeTime = .max
            // The machine may have slept.
            if now.monotonic < wakeTime { return planWake() }
            try wake()
        }
    }
}
