import Messages

/// A program that ends at any moment, and starts anew: on the machine of all programs but publishers and sites' relays.
protocol SimulatedProgram: AnyObject {
    var simulation: Simulation { get }
    var isRunning: Bool { get }
    /// How often it was started.
    var life: Int { get }
    /// Of its machine.
    var clock: MachineClock { get }

    /// Does something once its machine is awake.
    func whenAwake(_ body: @escaping () throws -> Void) throws
    /// Takes an error of what was done later.
    func fail(with error: any Error) throws
}

extension SimulatedProgram {
    /// This moment, on the machine's clocks.
    var now: Moment { clock.moment(at: simulation.now) }

    var clock: MachineClock { simulation.clock }

    func whenAwake(_ body: @escaping () throws -> Void) throws { try simulation.whenMachineAwake(body) }

    func fail(with error: any Error) throws { throw error }

    /// Does something later, unless the program has ended by then.
    func later(_ delay: ClosedRange<Int64>, _ body: @escaping () throws -> Void) {
        simulation.later(delay) { [weak self, life] in
            try self?.whenAwake {
                guard let self, self.isRunning, self.life == life else { return }
                do { try body() } catch { try self.fail(with: error) }
            }
        }
    }

    /// A client for replays, of one life of the program.
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

/// A program whose core says when to wake it.
protocol WakingProgram: SimulatedProgram {
    /// When the core is to be woken, on the monotonic clock.
    var nextDeadline: Int64 { get }
    /// For when that is planned.
    var wakeTime: Int64 { get set }

    /// Wakes the core, and carries out its effects.
    func wake() throws
}

extension WakingProgram {
    /// Plans to wake the core, if that changed. Call it after every call of the core.
    func planWake() {
        guard isRunning, nextDeadline != wakeTime else { return }
        wakeTime = nextDeadline
        let delay = max(wakeTime, now.monotonic) - now.monotonic
        later(delay...delay) { [self, wakeTime] in
            // Otherwise another time took its place.
            guard self.wakeTime == wakeTime else { return }
            self.wakeTime = .max
            // The machine may have slept.
            if now.monotonic < wakeTime { return planWake() }
            try wake()
        }
    }
}
