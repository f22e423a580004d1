import ServiceKit
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Programs that require keys: the real ones, with keys made by holdfast-keys, on ports and in a directory of their own.
struct Locked: Sendable {
    let directory: FilePath
    let keys: FilePath

    /// A running program.
    struct Running {
        let program: ProgramUnderTest
        let ready: ProgramReady
    }

    /// Makes the programs' keys, and keys for people with the given roles.
    static func run(_ people: [String: String] = [:], _ body: (Locked) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let locked = Locked(directory: directory, keys: directory.appending("keys"))
            try await locked.keys("make", locked.keys.string)
            for (name, role) in people.sorted(by: { $0.key < $1.key }) {
                try await locked.keys("add", locked.keys.string, name, "--role", role)
            }
            try await body(locked)
        }
    }

    /// A program's own key as a client of that program: it may do everything.
    func security(of program: String) throws -> SocketSecurity {
        let pair = try KeyDirectory(keys).pair(of: program)
        return .client(pair, server: pair.publicKey)
    }

    func keys(_ arguments: String...) async throws {
        let result = try await run("holdfast-keys", arguments)
        #expect(result.end == .exited(0), "\(result.error)")
    }

    /// Runs a program to its end.
    func run(_ program: String, _ arguments: [String]) async throws -> (end: ProgramEnd, output: String, error: String)
    {
        try await ProgramUnderTest.run(
            program, arguments: arguments, environment: ["HOLDFAST_KEYS": keys.string], in: directory
        ) { program in
            let end = try await program.end(within: .seconds(60))
            return (end, program.standardOutput, program.standardError)
        }
    }

    /// Starts a program, and ends it with the body.
    func start(
        _ program: String, _ arguments: [String], _ body: (Running) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run(
            program, arguments: ProgramUnderTest.anyPorts + ["--data", directory.string] + arguments,
            environment: ["HOLDFAST_KEYS": keys.string], in: directory
        ) { program in
            try await body(Running(program: program, ready: program.ready()))
        }
    }
}
