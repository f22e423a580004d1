import FoundationEssentials
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

@testable import RelayEngine

/// A guard ends its program with everything that the program started.
@Suite(.timeLimit(.minutes(1)))
struct GuardedProgramTests {
    /// How a guarded program is made to end.
    enum End: CaseIterable, Sendable {
        case kill, terminate, deadline, itself
    }

    /// A shell script that writes a file when it is ready.
    private static func start(_ script: String, in directory: FilePath) async throws -> (GuardedProgram, text: String) {
        let file = directory.appending("ready").string
        let program = try #require(
            GuardedProgram(
                ["/bin/sh", "-c", script, file], adding: [:], until: BootClock.now + 50_000_000_000))
        let text = try await eventualValue("the script") {
            // The file is complete once it has its name.
            try FileManager.default.fileExists(atPath: file) ? String(contentsOfFile: file, encoding: .utf8) : nil
        }
        return (program, text)
    }

    /// A recorder that a script runs must not outlive the lease.
    @Test(arguments: End.allCases)
    func whatAScriptStartsEndsWithIt(end: End) async throws {
        try await withTemporaryDirectory { directory in
            let script =
                "sleep 100 & echo $! > \"$0.new\"; mv \"$0.new\" \"$0\"; " + (end == .itself ? "exit 3" : "wait")
            let (program, text) = try await Self.start(script, in: directory)
            let process = try #require(Int32(text.dropLast()))
            switch end {
            case .kill: program.kill()
            case .terminate: program.terminate()
            case .deadline: program.extend(until: 1)
            case .itself: break
            }
            let reason = program.wait()
            program.close()
            #expect(!Machine.exists(process))
            switch end {
            case .kill, .deadline: #expect(reason == "killed by signal 9")
            case .terminate: #expect(reason == "killed by signal 15")
            case .itself: #expect(reason == "exited with 3")
            }
        }
    }

    /// The script's shell ends at once.
    @Test func aRecorderThatAScriptStartedFinishesAfterAStop() async throws {
        try await withTemporaryDirectory { directory in
            let script = """
                (trap 'sleep 0.3; echo finished > "$0"; exit' TERM; sleep 100 & echo > "$0.new"; mv "$0.new" "$0"; wait) & wait
                """
            let (program, _) = try await Self.start(script, in: directory)
            program.terminate()
            #expect(program.wait() == "killed by signal 15")
            program.close()
            let text = try String(contentsOfFile: directory.appending("ready").string, encoding: .utf8)
            #expect(text == "finished\n")
        }
    }
}
