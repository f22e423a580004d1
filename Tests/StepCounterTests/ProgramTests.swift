import FoundationEssentials
import StepStorage
import SystemPackage
import TestSupport
import Testing

/// The real program, as a person starts it.
@Suite(.timeLimit(.minutes(2)))
struct ProgramTests {
    private func run(
        in data: FilePath, _ arguments: [String] = [], _ body: (ProgramUnderTest) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run(
            "step-counter",
            arguments: ["--data", data.string, "--subscribe", "tcp://127.0.0.1:9"] + ProgramUnderTest.anyPorts
                + arguments
        ) { try await body($0) }
    }

    @Test func itStartsTellsHowItIsAndStops() async throws {
        try await withTemporaryDirectory { data in
            try await run(in: data) { counter in
                let ready = try await counter.ready()
                try await eventually("health to tell") {
                    try await ProgramUnderTest.run(
                        "step-counter", arguments: ["health", "--reply", ready.reply]
                    ) { health in
                        // Degraded, and doing its work.
                        let end = try await health.end()
                        #expect(end == .exited(0))
                        return health.standardOutput.contains("no publisher is heard at tcp://127.0.0.1:9")
                    }
                }
                try counter.send(.terminate)
                let end = try await counter.end()
                #expect(end == .exited(0))
            }
        }
    }

    @Test func aSecondOneOnTheDataDirectoryIsRefused() async throws {
        try await withTemporaryDirectory { data in
            try await run(in: data) { counter in
                _ = try await counter.ready()
                try await run(in: data) { second in
                    let end = try await second.end()
                    #expect(end == .exited(78))
                    #expect(second.standardError.contains("a step-counter uses it"))
                }
            }
        }
    }

    @Test func aSpoiledHistoryIsFoundByACheck() async throws {
        try await withTemporaryDirectory { data in
            try await run(in: data) { counter in
                _ = try await counter.ready()
                try counter.send(.terminate)
                let end = try await counter.end()
                #expect(end == .exited(0))
            }
            try await run(in: data, ["--check"]) { check in
                let end = try await check.end()
                #expect(end == .exited(0))
            }
            let history = StepHistory.path(in: data).string
            // What is not in the database itself yet would be taken for it.
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: history + suffix) }
            let whole = try Data(contentsOf: URL(filePath: history))
            // All but the header, which says what it is.
            try (whole.prefix(100) + Data(repeating: 0xA5, count: whole.count - 100)).write(to: URL(filePath: history))
            try await run(in: data, ["--check"]) { check in
                let end = try await check.end()
                #expect(end == .exited(74))
                #expect(check.standardError.contains("Put a backup in its place"))
            }
        }
    }

    @Test(arguments: [
        (["--stride-length", "14"], "write the metres of two steps"), (["--stream", "a/b"], "is not a stream's name"),
        (["--maximum-devices", "0"], "write 1 or more"), (["--keep", "0s"], "7d say"),
    ])
    func whatMakesNoSenseIsRefused(arguments: [String], complaint: String) async throws {
        try await withTemporaryDirectory { data in
            try await run(in: data, arguments) { counter in
                let end = try await counter.end()
                #expect(end == .exited(78))
                #expect(counter.standardError.contains(complaint))
            }
        }
    }
}
