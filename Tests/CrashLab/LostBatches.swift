import TestSupport

/// Batches get lost on their way to the recorder.
struct LostBatches: Experiment {
    let part: Double

    let name = "lost-batches"
    let fault = "a third of the batches lost on the way, for a second"

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            _ = try await rig.startRecorder().ready()
            for (index, plan) in SessionPlan.usual.enumerated() { try await rig.start("session-\(index)", plan) }
            for _ in 0..<lab.share(part, atLeast: 2) {
                row.tries += 1
                rig.forwarder.lose(percent: 33)
                try await Task.sleep(for: random.milliseconds(900...1_100))
                rig.forwarder.lose(percent: 0)
                let start = ContinuousClock.now
                try await rig.catchUp()
                row.add(recovery: .now - start)
            }
            try await rig.stopAll(row: &row)
        }
    }
}
