/// Batches are lost on their way to the recorder.
struct LostBatches: Experiment {
    let part: Double

    let name = "lost-batches"
    let fault = "a third of the batches lost on the way, for a second"

    func run(in lab: Laboratory, row: inout Row) async throws {
        try await Rig.repeating(name, in: lab, row: &row, times: lab.share(part, atLeast: 2)) { rig, row, random in
            row.tries += 1
            rig.forwarder.lose(percent: 33)
            try await Task.sleep(for: random.milliseconds(900...1_100))
            rig.forwarder.lose(percent: 0)
            return .now
        }
    }
}
