import SystemPackage
import TestSupport
import Testing

/// A program that is restarted whenever it was killed, on the same sockets and files.
actor RevivedProgram {
    private let executable: FilePath
    private let arguments: [String]
    private let directory: FilePath
    private let isReady: @Sendable (ProgramUnderTest) async throws -> Void
    private var current: ProgramUnderTest?
    /// Why the program could not be started.
    private var failure: (any Error)?
    /// Whether the program stays down after a kill.
    private var isHeldBack = false

    init(
        executable: FilePath, arguments: [String], in directory: FilePath,
        isReady: @escaping @Sendable (ProgramUnderTest) async throws -> Void = { _ = try await $0.ready() }
    ) {
        self.executable = executable
        self.arguments = arguments
        self.directory = directory
        self.isReady = isReady
    }

    /// A program with the first of these endpoints for its events and the second for its replies.
    init(_ name: String, at ends: ArraySlice<String>, _ arguments: [String], in directory: FilePath) throws {
        self.init(
            executable: try ProductsDirectory.executable(name),
            arguments: zip(["--publish", "--reply"], ends).flatMap { [$0, $1] } + arguments, in: directory)
    }

    /// A program on a host of a network, with sockets in the directory: `Network.sockets`.
    init(
        _ program: String, as name: String, on host: Int, of network: Network, _ arguments: [String],
        in directory: FilePath
    ) throws {
        let (executable, command) = network.on(host)
        self.init(
            executable: executable,
            arguments: command + [try ProductsDirectory.executable(program).string]
                + Network.sockets(name, in: directory) + arguments, in: directory)
    }

    /// Runs the programs while a closure runs.
    static func run(_ programs: [RevivedProgram], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for program in programs { group.addTask { try await program.keepRunning() } }
            defer { group.cancelAll() }
            for program in programs { try await program.isRunning() }
            try await body()
        }
    }

    private func keepRunning() async throws {
        do {
            try await runAgainAndAgain()
        } catch {
            failure = error
            throw error
        }
    }

    private func runAgainAndAgain() async throws {
        while true {
            try await eventually("a start", within: .seconds(300)) { !isHeldBack }
            try Task.checkCancellation()
            try await ProgramUnderTest.run(executable: executable, arguments: arguments, in: directory) { program in
                try await isReady(program)
                current = program
                // Until the program is killed.
                _ = try await program.end(within: .seconds(7_200))
            }
            current = nil
        }
    }

    private func isRunning() async throws {
        try await eventually("\(executable) that runs") {
            if let failure { throw failure }
            return current != nil
        }
    }

    /// Stops the process for a time, with its sockets open.
    func freeze(for time: Duration) async throws {
        try await isRunning()
        let program = current
        try program?.send(.stop)
        try await Task.sleep(for: time)
        try program?.send(.resume)
    }

    /// Kills the program, and waits until it runs again.
    func kill() async throws {
        try await hold()
        try await release()
    }

    /// Kills the program, and keeps it down.
    func hold() async throws {
        isHeldBack = true
        try await isRunning()
        try current?.send(.kill)
        try await eventually("the end of a program") { current == nil }
    }

    func release() async throws {
        isHeldBack = false
        try await isRunning()
    }
}
