import Messages
import SystemPackage
import TestSupport

/// Hundreds of streams, while recorder and publisher are killed: at any moment, while the recorder recovers, and at a file call
/// of a checkpoint, which syncs every stream's file. At the end the recorder hears nothing for a while.
struct ManyStreams: Experiment {
    let part: Double

    let name = "many-streams"
    let fault = "kill -9 of recorder and publisher, many streams; also in recovery and in a checkpoint; network cut"

    private enum Kill: CaseIterable { case recorder, recovery, checkpoint, publisher }

    /// Longer than the interval between checkpoints.
    private static let checkpointLimit = Duration.seconds(30)

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        let wanted = lab.share(part, atLeast: 6)
        let streams = StreamPlan.many(lab.streams)
        var memory = 0
        var longestStart = Duration.zero
        var afterCut = Duration.zero
        let cut = Duration.seconds(lab.crashes < 100 ? 5 : 30)
        try await Rig.run(name, in: lab, row: &row, streams: streams) { rig, row in
            _ = try await rig.startRecorder().ready()
            let plans = SessionPlan.many(lab.streams)
            for (index, plan) in plans.enumerated() { try await rig.start("session-\(index)", plan) }
            func restart() async throws -> ContinuousClock.Instant {
                let start = ContinuousClock.now
                _ = try await rig.startRecorder().ready()
                longestStart = max(longestStart, .now - start)
                return start
            }
            while row.tries < wanted {
                let kill = Kill.allCases[row.tries % Kill.allCases.count]
                try await Task.sleep(for: random.milliseconds(200...1_500))
                memory = max(memory, try Memory.peak(of: rig.running()))
                let start: ContinuousClock.Instant
                switch kill {
                case .publisher:
                    row.tries += 1
                    try await rig.restartPublisher(by: .kill)
                    start = .now
                case .recorder:
                    row.tries += 1
                    try await rig.killRecorder()
                    start = try await restart()
                case .recovery:
                    row.tries += 2
                    try await rig.killRecorder()
                    _ = try await rig.startRecorder()
                    try await Task.sleep(for: random.milliseconds(0...400))
                    try await rig.killRecorder()
                    start = try await restart()
                case .checkpoint:
                    row.tries += 2
                    try await rig.killRecorder()
                    // Only checkpoints sync this session's files: they are not rotated.
                    let call = Int.random(in: 1...lab.streams / 2, using: &random)
                    var layer = FaultLayer(
                        library: lab.faultLayer, root: rig.data,
                        fault: FaultLayer.Fault(
                            call: .sync, number: call, action: random.happens(0.5) ? .killBefore : .killAfter))
                    layer.prefix = rig.directory(of: "session-0")
                    let recorder = try await rig.startRecorder(layer)
                    let end = try await recorder.end(within: Self.checkpointLimit)
                    guard end == .killed(by: 9) else {
                        throw Violation("the recorder \(end) in a checkpoint:\n\(recorder.standardError)")
                    }
                    start = try await restart()
                }
                try await rig.catchUp()
                row.add(recovery: .now - start)
            }
            row.tries += 1
            rig.forwarder.lose(percent: 100)
            try await Task.sleep(for: cut)
            rig.forwarder.lose(percent: 0)
            let start = ContinuousClock.now
            try await rig.catchUp()
            afterCut = .now - start
            row.add(recovery: afterCut)
            memory = max(memory, try Memory.peak(of: rig.running()))
            try await rig.stopAll(row: &row)
        }
        row.notes.append(
            "\(lab.streams) streams; the recorder had up to \(memory >> 20) MB, answered within \(longestStart) of its start, "
                + "and had everything \(afterCut) after the network had been cut for \(cut)")
    }
}
