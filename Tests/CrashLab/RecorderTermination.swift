import Messages
import TestSupport
import ZeroMQ

/// SIGTERM of the recorder under load: it ends its sessions, with everything published until then, and exits.
struct RecorderTermination: Experiment {
    let part: Double

    let name = "recorder-stop"
    let fault = "SIGTERM of the recorder under load, exit within 5 s"

    /// The time that a supervisor allows.
    private static let limit = Duration.seconds(5)

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        var longest = Duration.zero
        try await Rig.run(name, in: lab, row: &row, streams: StreamPlan.heavy) { rig, row in
            for number in 0..<lab.share(part, atLeast: 3) {
                _ = try await rig.startRecorder().ready()
                try await rig.start("array-\(number)", SessionPlan(streams: ["phone/"], maximumFileSize: 1_000_000))
                try await rig.start("table-\(number)", SessionPlan(streams: ["phone/", "left-wrist/"], format: "csv"))
                try await Task.sleep(for: random.milliseconds(200...1_500))
                row.tries += 1
                let recorder = try rig.running()
                for session in rig.plans.keys { rig.stopping(session) }
                let start = MonotonicClock.now
                try recorder.send(.terminate)
                let end = try await recorder.end(within: .seconds(30))
                let ended = MonotonicClock.now
                let taken = Duration.nanoseconds(ended - start)
                longest = max(longest, taken)
                if end != .exited(0) || taken - .nanoseconds(rig.stalls.length(within: start..<ended)) > Self.limit {
                    row.violations.append("the recorder \(end) \(taken) after SIGTERM:\n\(recorder.standardError)")
                }
                for session in rig.expectations.keys.sorted() {
                    try await rig.check(session, row: &row)
                    rig.expectations[session] = nil
                }
            }
        }
        row.notes.append("longest time to exit: \(Int(longest / .milliseconds(1))) ms")
    }
}
