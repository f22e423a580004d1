import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A publisher whose messages are partly nonsense crashes no program and damages no session.
@Suite(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"), .timeLimit(.minutes(4)))
struct NonsenseTests {
    /// HOLDFAST_NONSENSE_SEED=7 selects other messages.
    private static let seed = ProcessInfo.processInfo.environment["HOLDFAST_NONSENSE_SEED"] ?? "1"
    private static let messages = 2_000

    @Test func whateverIsSaidEndsNoProgram() async throws {
        let script = FilePath(#filePath).removingLastComponent().appending("Clients/nonsense.py")
        try await ProgramUnderTest.run(
            executable: Tool.require("python3"), arguments: [script.string, Self.seed, "\(Self.messages)"]
        ) { publisher in
            let endpoint = "tcp://127.0.0.1:\(try await publisher.line("the port") { Int($0) != nil })"
            try await withTemporaryDirectory { data in
                let session = try await Self.listen(to: endpoint, in: data) { ready in
                    let client = try RequestClient(
                        context: Context(), thread: SocketThread(name: "test"), endpoint: ready.reply)
                    _ = try await client.send(
                        RecordingStart(session: "s", streams: ["*"], before: 60), timeout: .seconds(60))
                    try publisher.send(.interrupt)
                    _ = try await publisher.line("the end") { $0.hasPrefix("sent ") }
                    try await eventually("the last samples, in which all is right", within: .seconds(60)) {
                        let state = try await client.send(RecordingStatus(session: "s"), timeout: .seconds(60))
                        return state.logs.first { $0.stream.device == "honest" }?.samples == 100
                    }
                    let result = try await client.send(RecordingStop(session: "s"), timeout: .seconds(120))
                    let honest = result.report.streams.filter { $0.stream.device == "honest" }
                    #expect(honest.map(\.received) == [100] && honest.map(\.lost) == [0], "seed \(Self.seed)")
                    return result.directory
                }
                // Exit code 3: samples were lost, because the publisher announced some that it cannot replay. The files are
                // intact.
                try await ProgramUnderTest.run("recorder", arguments: ["verify", session]) { verification in
                    let end = try await verification.end()
                    #expect(end == .exited(3), "seed \(Self.seed): \(verification.standardOutput.suffix(2_000))")
                }
            }
        }
    }

    /// Runs a recorder and a step-counter that listen to an endpoint, and checks that they end properly.
    private static func listen(
        to endpoint: String, in data: FilePath, _ body: (ProgramReady) async throws -> String
    ) async throws -> String {
        let own = ["--data", data.string] + ProgramUnderTest.anyPorts
        return try await ProgramUnderTest.run(
            "recorder", arguments: own + ["--subscribe", endpoint, "--recovery-limit", "1s"], in: data
        ) { recorder in
            let ready = try await recorder.ready()
            return try await ProgramUnderTest.run(
                "step-counter", arguments: own + ["--subscribe", endpoint, "--recorder", ready.publish], in: data
            ) { steps in
                _ = try await steps.ready()
                let result = try await body(ready)
                for program in [steps, recorder] {
                    try program.send(.terminate)
                    #expect(
                        [.exited(0), .exited(3)].contains(try await program.end()),
                        "\(program.standardError.suffix(2_000))")
                }
                return result
            }
        }
    }
}
