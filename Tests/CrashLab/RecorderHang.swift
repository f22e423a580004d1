import TestSupport

/// The recorder hangs for seconds; whatever exceeds the network's buffers is lost in transit.
struct RecorderHang: Experiment {
    let part: Double

    let name = "recorder-hang"
    let fault = "SIGSTOP of the recorder for seconds, batches lost meanwhile"

    func run(in lab: Laboratory, row: inout Row) async throws {
        try await Rig.repeating(name, in: lab, row: &row, times: lab.share(part, atLeast: 2)) { rig, row, random in
            try await Task.sleep(for: random.milliseconds(0...500))
            row.tries += 1
            rig.forwarder.lose(percent: Int.random(in: 0...100, using: &random))
            try rig.running().send(.stop)
            try await Task.sleep(for: random.milliseconds(500...3_000))
            rig.forwarder.lose(percent: 0)
            let start = ContinuousClock.now
            try rig.running().send(.resume)
            return start
        }
    }
}
