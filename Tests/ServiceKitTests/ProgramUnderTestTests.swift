import Glibc
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ProgramUnderTestTests {
    private static let shell: FilePath = "/bin/sh"
    private static let readyLine = #"echo '{"publish":"tcp://127.0.0.1:1","ready":"x","reply":"tcp://127.0.0.1:2"}'"#

    private static func run<Result: Sendable>(
        _ script: String, environment: [String: String] = [:], in directory: FilePath? = nil, input: [UInt8] = [],
        _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        try await ProgramUnderTest.run(
            executable: shell, arguments: ["-c", script], environment: environment, in: directory, input: input, body)
    }

    /// Signal 0 only checks that a process exists: kill(2).
    private static func isRunning(_ process: Int32) -> Bool { kill(process, 0) == 0 }

    @Test func whatAProgramWritesAndItsExitCodeAreKnown() async throws {
        try await Self.run("echo out; echo wrong >&2; exit 3") { program in
            let end = try await program.end()
            #expect(end == .exited(3))
            #expect(program.standardOutput == "out\n")
            #expect(program.standardError == "wrong\n")
        }
    }

    @Test func everythingWrittenBeforeTheEndIsThere() async throws {
        try await Self.run("seq 1 200000") { program in
            let end = try await program.end()
            #expect(end == .exited(0))
            #expect(program.standardOutput.hasSuffix("\n199999\n200000\n"))
            #expect(program.standardOutput.utf8.count == 1_288_895)
        }
    }

    @Test func theReadyLineIsFoundAmongOthers() async throws {
        try await Self.run("echo hello; \(Self.readyLine); exec sleep 100") { program in
            let ready = try await program.ready()
            #expect(ready == ProgramReady(ready: "x", publish: "tcp://127.0.0.1:1", reply: "tcp://127.0.0.1:2"))
            try await program.end(isNotWithin: .milliseconds(1))
        }
    }

    @Test func aProgramThatEndsWithoutItsReadyLineSaysWhy() async throws {
        try await Self.run("echo 'no such disk' >&2; exit 74") { program in
            let failure = await #expect(throws: TestFailure.self) { try await program.ready() }
            let sentence = try #require(failure).description
            #expect(sentence.contains("exited(74)"))
            #expect(sentence.contains("no such disk"))
        }
    }

    @Test func waitingIsBounded() async throws {
        try await Self.run("exec sleep 100") { program in
            await #expect(throws: TestFailure.self) { try await program.ready(within: .milliseconds(50)) }
            await #expect(throws: TestFailure.self) { try await program.end(within: .milliseconds(50)) }
        }
    }

    @Test func aProgramIsGoneWhenTheBodyReturns() async throws {
        let process = try await Self.run("exec sleep 100") { try #require($0.processIdentifier) }
        #expect(!Self.isRunning(process))
    }

    @Test func aProgramIsGoneWhenTheBodyThrows() async throws {
        struct Expected: Error {}
        var process: Int32?
        await #expect(throws: Expected.self) {
            try await Self.run("exec sleep 100") { program in
                process = program.processIdentifier
                throw Expected()
            }
        }
        #expect(!Self.isRunning(try #require(process)))
    }

    @Test func aProgramThatIgnoresSignalsAndItsChildrenAreGoneToo() async throws {
        let processes = try await Self.run("trap '' TERM INT; sleep 100 & echo $!; \(Self.readyLine); wait; sleep 100")
        {
            _ = try await $0.ready()
            let child = try await $0.line { _ in true }
            return [try #require($0.processIdentifier), try #require(Int32(child))]
        }
        // The child's own parent is gone; the process that adopts the child may leave it a zombie for a while.
        try await eventually("the program's child is gone") { !processes.contains(where: Self.isAlive) }
    }

    @Test func aProgramIsGoneWhenTheTestIsCancelled() async throws {
        let (started, continuation) = AsyncStream.makeStream(of: Int32.self)
        let test = Task {
            try await Self.run("exec sleep 100") { program in
                continuation.yield(try #require(program.processIdentifier))
                _ = try await program.end()
            }
        }
        var identifiers = started.makeAsyncIterator()
        let process = try #require(await identifiers.next())
        test.cancel()
        await #expect(throws: (any Error).self) { try await test.value }
        #expect(!Self.isRunning(process))
    }

    @Test func signalsArrive() async throws {
        try await Self.run("trap 'echo got it; exit 7' TERM; \(Self.readyLine); while :; do sleep 0.01; done") {
            program in
            _ = try await program.ready()
            try program.send(.terminate)
            #expect(try await program.end() == .exited(7))
            #expect(program.standardOutput.hasSuffix("got it\n"))
            #expect(throws: TestFailure.self) { try program.send(.terminate) }
        }
    }

    @Test func aKilledProgramIsToldFromOneThatExits() async throws {
        try await Self.run("exec sleep 100") { program in
            try program.send(.kill)
            #expect(try await program.end() == .killed(by: SIGKILL))
        }
    }

    @Test func aStoppedProgramGoesOnWhenResumed() async throws {
        try await Self.run(
            "\(Self.readyLine); while read line; do echo \"$line\"; done; echo over", input: Array("a\nb\n".utf8)
        ) {
            program in
            _ = try await program.line { $0 == "over" }
        }
        try await Self.run("\(Self.readyLine); exec sleep 100") { program in
            _ = try await program.ready()
            let process = try #require(program.processIdentifier)
            try program.send(.stop)
            try await eventually("the program is stopped") { Self.state(of: process) == "T" }
            try program.send(.resume)
            try await eventually("the program goes on") { Self.state(of: process) == "S" }
        }
    }

    @Test func variablesOfThisProcesssOwnConfigurationAreNotHandedOn() async {
        // In a separate process, because setenv(3) is unsafe while other threads read the environment.
        await #expect(processExitsWith: .success) {
            setenv("HOLDFAST_TEST_LEAK", "1", 1)
            let script = "echo ${HOLDFAST_TEST_LEAK-none} $HOLDFAST_DATA"
            try await ProgramUnderTest.run(
                executable: "/bin/sh", arguments: ["-c", script], environment: ["HOLDFAST_DATA": "/data"]
            ) { program in
                _ = try await program.end()
                try #require(program.standardOutput == "none /data\n")
            }
        }
    }

    @Test func theWorkingDirectoryIsTheOneAskedFor() async throws {
        try await withTemporaryDirectory { directory in
            try await Self.run("pwd -P; touch here", in: directory) { program in
                let end = try await program.end()
                #expect(end == .exited(0))
            }
            #expect(access(directory.appending("here").string, F_OK) == 0)
        }
    }

    @Test func aMissingProgramIsNamed() async throws {
        let failure = await #expect(throws: TestFailure.self) {
            try await ProgramUnderTest.run("no-such-program") { _ in }
        }
        #expect(try #require(failure).description.contains("no-such-program"))
        await #expect(throws: TestFailure.self) {
            try await ProgramUnderTest.run(executable: "/no/such/program") { _ in }
        }
    }

    private static func isAlive(_ process: Int32) -> Bool {
        let state = state(of: process)
        return state != nil && state != "Z"
    }

    /// The letter after the name in parentheses: proc_pid_stat(5).
    private static func state(of process: Int32) -> String? {
        guard let file = try? FileDescriptor.open("/proc/\(process)/stat", .readOnly) else { return nil }
        defer { try? file.close() }
        var bytes = [UInt8](repeating: 0, count: 256)
        guard let count = try? bytes.withUnsafeMutableBytes({ try file.read(into: $0) }) else { return nil }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        return text.split(separator: ")").last?.split(separator: " ").first.map(String.init)
    }
}

extension ProgramUnderTest {
    fileprivate func end(isNotWithin limit: Duration) async throws {
        await #expect(throws: TestFailure.self) { try await self.end(within: limit) }
    }
}
