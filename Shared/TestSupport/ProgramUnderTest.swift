import FoundationEssentials
import Subprocess
import Synchronization
package import SystemPackage

/// A real program, running as long as a closure does.
///
/// ```swift
/// try await ProgramUnderTest.run("recorder", arguments: ProgramUnderTest.anyPorts) { recorder in
///     let ready = try await recorder.ready()
///     …
///     try recorder.send(.terminate)
///     #expect(try await recorder.end() == .exited(0))
/// }
/// ```
///
/// However the closure ends, the program and its children are gone afterwards, also if the test is cancelled or runs out of time.
/// Every wait is bounded, ends early when the program does, and fails with all that the program wrote.
package final class ProgramUnderTest: Sendable {
    /// The options that let any program of this package choose its ports.
    package static let anyPorts = ["--publish", "tcp://127.0.0.1:*", "--reply", "tcp://127.0.0.1:*"]

    private typealias Run = Execution<ArrayInput, SequenceOutput, SequenceOutput>

    private let transcript = ProgramTranscript()
    /// Set while signals can be sent. The process is reaped only after this is `nil`, so that no signal reaches another process
    /// with the same number.
    private let run = Mutex<Run?>(nil)

    private init() {}

    /// Runs a program of this package.
    /// - Parameters:
    ///   - program: the program's name, such as `recorder`.
    ///   - environment: variables on top of this process's own, whose `HOLDFAST_…` are not passed on.
    ///   - input: standard input, followed by its end.
    ///   - disk: a disk that only this program uses.
    /// - Throws: `TestFailure` if the program is not built or can't be started, and errors of the body.
    package static func run<Result: Sendable>(
        _ program: String, arguments: [String] = [], environment: [String: String] = [:],
        in directory: FilePath? = nil, input: [UInt8] = [], on disk: SmallDisk? = nil,
        _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        try await run(
            executable: ProductsDirectory.executable(program), arguments: arguments, environment: environment,
            in: directory, input: input, on: disk, body)
    }

    /// Runs any program.
    /// - Throws: `TestFailure` if it can't be started, and errors of the body.
    package static func run<Result: Sendable>(
        executable: FilePath, arguments: [String] = [], environment: [String: String] = [:],
        in directory: FilePath? = nil, input: [UInt8] = [], on disk: SmallDisk? = nil,
        _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        let configuration =
            if let disk {
                configuration("/usr/bin/env", disk.arguments(running: executable, arguments), environment, directory)
            } else {
                configuration(executable, arguments, environment, directory)
            }
        let program = ProgramUnderTest()
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await program.execute(configuration, input: input) }
            // Cancels the execution, which kills the program; the group then waits until it is gone.
            defer { tasks.cancelAll() }
            try await program.started()
            return try await body(program)
        }
    }

    /// Waits until the program reports that it listens on all its sockets.
    package func ready(within limit: Duration = .seconds(50)) async throws -> ProgramReady {
        try await transcript.wait(for: "the ready line", within: limit) { record in
            record.lines.lazy.compactMap { line in
                try? JSONDecoder().decode(ProgramReady.self, from: Data(line.utf8))
            }.first
        }
    }

    /// Waits for a line of standard output, which may already have been written.
    package func line(
        _ what: String = "a line", within limit: Duration = .seconds(50),
        where matches: @escaping @Sendable (Substring) -> Bool
    ) async throws -> String {
        try await transcript.wait(for: what, within: limit) { $0.lines.first(where: matches).map(String.init) }
    }

    /// Waits for a text anywhere on standard error, which may already have been written.
    package func complaint(containing text: String, within limit: Duration = .seconds(50)) async throws {
        try await transcript.wait(for: "'\(text)' on standard error", within: limit) {
            $0.errorText.contains(text) ? () : nil
        }
    }

    /// Waits until the program has ended and all its output was read.
    package func end(within limit: Duration = .seconds(50)) async throws -> ProgramEnd {
        try await transcript.wait(for: "the program's end", within: limit) { $0.end }
    }

    /// Sends a signal.
    /// - Throws: `TestFailure` if the program has ended already.
    package func send(_ signal: ProgramSignal) throws {
        try run.withLock { run in
            guard let run else { throw TestFailure("the program has ended and can't be sent \(signal)") }
            try run.send(signal: signal.number)
        }
    }

    /// The standard output so far.
    package var standardOutput: String { transcript.record.outputText }
    /// The standard error output so far.
    package var standardError: String { transcript.record.errorText }
    /// `nil` once the process has ended.
    package var processIdentifier: Int32? { run.withLock { $0?.processIdentifier.value } }

    private static func configuration(
        _ executable: FilePath, _ arguments: [String], _ environment: [String: String], _ directory: FilePath?
    ) -> Configuration {
        var changes: [Environment.Key: String?] = [:]
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix("HOLDFAST_") {
            changes[Environment.Key(stringLiteral: name)] = .some(nil)
        }
        for (name, value) in environment { changes[Environment.Key(stringLiteral: name)] = value }

        var options = PlatformOptions()
        // A separate POSIX session, so that child processes can be killed with the program.
        options.createSession = true
        options.teardownSequence = [.send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .seconds(1))]
        return Configuration(
            executable: .path(executable), arguments: Arguments(arguments), environment: .inherit.updating(changes),
            workingDirectory: directory, platformOptions: options)
    }

    private func execute(_ configuration: Configuration, input: [UInt8]) async {
        do {
            let result = try await Subprocess.run(
                configuration, input: .array(input), output: .sequence, error: .sequence
            ) { execution in
                run.withLock { $0 = execution }
                transcript.update { _ in }
                defer { run.withLock { $0 = nil } }
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    tasks.addTask {
                        try await Self.read(execution.standardOutput) { self.transcript.append($0, to: \.output) }
                    }
                    tasks.addTask {
                        try await Self.read(execution.standardError) { self.transcript.append($0, to: \.error) }
                    }
                    try await tasks.waitForAll()
                }
            }
            let end: ProgramEnd =
                switch result.terminationStatus {
                case .exited(let code): .exited(code)
                case .signaled(let signal): .killed(by: signal)
                }
            transcript.update { $0.end = end }
        } catch {
            transcript.update { $0.failure = error }
        }
    }

    private func started() async throws {
        try await transcript.wait(for: "the program's start", within: .seconds(50)) { record in
            self.processIdentifier != nil || record.end != nil ? () : nil
        }
    }

    private static func read(_ output: SubprocessOutputSequence, _ append: ([UInt8]) -> Void) async throws {
        for try await buffer in output { append(buffer.withUnsafeBytes { Array($0) }) }
    }
}

extension ProgramSignal {
    fileprivate var number: Signal {
        switch self {
        case .terminate: .terminate
        case .interrupt: .interrupt
        case .kill: .kill
        case .stop: .suspend
        case .resume: .resume
        }
    }
}
