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
                        // The program is degraded, but works.
                        let end = try await health.end()
                        #expect(end == .exited(0))
                        return health.standardOutput.contains("received from a publisher at tcp://127.0.0.1:9")
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
            // SQLite would restore the pages that are not in the database itself yet.
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: history + suffix) }
            let whole = try Data(contentsOf: URL(filePath: history))
            // Overwrites everything except the header, which identifies a database.
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
        (["--maximum-devices", "0"], "write 1 or more"), (["--keep", "0s"], "such as 7d"),
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
