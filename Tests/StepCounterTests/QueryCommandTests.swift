import Messages
import StepCounterCore
import StepStorage
import SystemPackage
import TestSupport
import Testing

/// `step-counter query`, as a person uses it.
@Suite(.timeLimit(.minutes(2)))
struct QueryCommandTests {
    private func query(_ arguments: [String]) async throws -> (output: String, errors: String, end: ProgramEnd) {
        try await ProgramUnderTest.run("step-counter", arguments: ["query"] + arguments) { program in
            let end = try await program.end()
            return (program.standardOutput, program.standardError, end)
        }
    }

    @Test func aRunningProgramIsAsked() async throws {
        try await withTemporaryDirectory { data in
            let hour = WallTime(seconds: (WallTime.now.seconds / 3600).rounded(.down) * 3600)
            let ago = { (minutes: Double) in WallTime(seconds: hour.seconds - 60 * minutes) }
            do {
                let history = try StepHistory(in: data, at: .now)
                var commit = StepCommit(steps: ["phone": [61, 60, 59, 1].map(ago)])
                commit.steps["watch"] = (0..<10).map {
                    CountedStep(date: ago(30 - 0.01 * Double($0)), expected: 0.9)
                }
                try history.commit(commit, at: .now)
            }
            let counter = ["--data", data.string, "--subscribe", "tcp://127.0.0.1:1"] + ProgramUnderTest.anyPorts
            try await ProgramUnderTest.run("step-counter", arguments: counter) { program in
                let reply = try await program.ready().reply
                let range = ["--reply", reply, "--device", "phone", "--from", ago(120).utcText, "--to", hour.utcText]
                let text = try await query(range)
                #expect(text.end == .exited(0), "\(text.errors)")
                let lines = text.output.split(separator: "\n")
                #expect(lines.count == 5)
                #expect(lines[1].hasSuffix("      4"))
                #expect(lines[2] == "no steps are known before \(ago(61).utcText)")
                #expect(lines[3] == "0 % of this time was counted")
                #expect(lines[4] == "not counted: \(ago(120).utcText) to \(hour.utcText) (unknown)")
                let csv = try await query(range + ["--interval", "1h", "--format", "csv"])
                #expect(
                    csv.output == """
                        from,to,steps,coverage,falseSteps,missedSteps
                        \(ago(120).utcText),\(ago(60).utcText),1,0.0,,
                        \(ago(60).utcText),\(hour.utcText),3,0.0,,

                        """)
                let json = try await query(range + ["--format", "json"])
                let answer = try WireCoding.decode(StepsQuery.Reply.self, from: json.output.utf8)
                #expect(answer.numberOfSteps == 4 && answer.bins == nil)
                let watch = ["--reply", reply, "--device", "watch", "--from", ago(120).utcText, "--to", hour.utcText]
                let bouts = try await query(watch + ["--bouts"])
                #expect(bouts.end == .exited(0), "\(bouts.errors)")
                #expect(bouts.output.contains("expected error: 1 of these steps are none, and "), "\(bouts.output)")
                let table = try await query(watch + ["--bouts", "--format", "csv"])
                let rows = table.output.split(separator: "\n")
                #expect(rows.count == 2)
                #expect(rows[0].hasPrefix("from,to,steps,confidence,cadence,walkingTime,"))
                #expect(rows[1].hasPrefix("\(ago(30).utcText),\(ago(29.91).utcText),10,0.9"))
                let reversed = try await query([
                    "--reply", reply, "--device", "phone", "--from", hour.utcText, "--to", ago(1).utcText,
                ])
                #expect(reversed.end == .exited(69))
                #expect(reversed.errors.contains("Exchange from and to."))
                let mistyped = try await query(["--device", "phone", "--from", "yesterday"])
                #expect(mistyped.end == .exited(64))
                #expect(mistyped.errors.contains("is not a date and time with a zone"))
            }
        }
    }
}
