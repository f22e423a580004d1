import SystemPackage
import TestSupport
import Testing

extension Victim {
    /// An endpoint where nothing answers.
    static let nobody = "tcp://127.0.0.1:9"

    /// A program's options besides its ports.
    static let programs: [String: [String]] = [
        "sensor-publisher": ["--signal", "sine", "--rate", "100", "--batch", "1", "--device", "phone"],
        "recorder": ["--subscribe", nobody],
        // An honest client may seem silent if attacks occupy the processors for half a second.
        "step-counter": ["--subscribe", nobody, "--client-silence", "30s"],
        "log-manager": ["--subscribe", nobody], "archiver": ["--subscribe", nobody, "--log-manager", nobody],
    ]

    /// Runs a program to be attacked until the body ends.
    /// - Parameter code: its expected exit code.
    static func run(
        _ name: String, _ options: [String], exiting code: Int32 = 0, _ body: @Sendable (Victim) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await ProgramUnderTest.run(
                name, arguments: ["--data", directory.string] + ProgramUnderTest.anyPorts + options, in: directory
            ) { program in
                try await body(Victim(program))
                try program.send(.terminate)
                let end = try await program.end()
                #expect(end == .exited(code), "\(program.standardError.suffix(1_000))")
            }
        }
    }
}
