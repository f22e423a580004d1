import TestSupport

/// The publisher is killed or stopped, and returns with another epoch.
struct PublisherRestarts: Experiment {
    /// SIGKILL or SIGTERM.
    let signal: ProgramSignal
    /// The share of all crashes.
    let part: Double

    var name: String { signal == .kill ? "publisher-kill" : "publisher-stop" }
    var fault: String { (signal == .kill ? "kill -9" : "SIGTERM") + " of the publisher, back with a new epoch" }

    func run(in lab: Laboratory, row: inout Row) async throws {
        try await Rig.repeating(name, in: lab, row: &row, times: lab.share(part, atLeast: 3)) { rig, row, random in
            if random.happens(0.3), let session = rig.plans.keys.sorted().randomElement(using: &random) {
                try await rig.change(session, rig.anyChange(of: session, using: &random))
            }
            try await Task.sleep(for: random.milliseconds(0...700))
            row.tries += 1
            let start = ContinuousClock.now
            try await rig.restartPublisher(by: signal)
            return start
        }
    }
}
