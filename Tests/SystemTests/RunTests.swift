import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport
import Testing

/// What `make run` does once everything is built.
@Suite(.timeLimit(.minutes(5)))
struct RunTests {
    @Test func aWalkIsRecordedAndNothingIsLeftRunning() async throws {
        try await run(duration: "2s") { run, directory in
            let end = try await run.end(within: .seconds(60))
            #expect(end == .exited(0))
            let output = run.standardOutput
            #expect(output.contains("left-wrist/accelerometer") && output.contains("see it at http://127.0.0.1:"))
            #expect(output.contains("files are in \(directory)"))
            #expect(output.contains("in 1 file: whole"))
            #expect(output.contains("steps, counted live:") && output.contains("log files:"))
            #expect(FileManager.default.fileExists(atPath: try Self.archive(in: directory).string))
            let files = try FileManager.default.subpathsOfDirectory(atPath: directory.string)
            let log = try #require(files.first { $0.contains("left-wrist_accelerometer-") })
            let records = try LogItem.read(directory.appending(log))
            #expect(records.compactMap(\.marker) == ["start", "step", "stop"])
            let count = records.filter { $0.sensorType != nil }.count
            // 2 s at 100 Hz, and the time that a request takes; a loaded machine takes longer, never shorter.
            #expect(count >= 195)
        }
    }

    @Test func controlCEndsItCleanly() async throws {
        try await run(duration: "1h") { run, directory in
            _ = try await run.line("the session's name") { $0.hasPrefix("recording session ") }
            // A terminal sends SIGINT to all processes in the foreground.
            let group = try #require(run.processIdentifier)
            #expect(kill(-group, SIGINT) == 0)
            let end = try await run.end(within: .seconds(60))
            #expect(end == .exited(0))
            #expect(run.standardOutput.contains("files are in \(directory)"))
        }
    }

    @Test func controlCBeforeTheRecordingEndsIt() async throws {
        try await withTemporaryDirectory { programs in
            // The third program does not become ready, so the recording can't have begun.
            let built = try ProductsDirectory.executable("recorder").removingLastComponent()
            for name in ["sensor-publisher", "recorder"] {
                try FileManager.default.createSymbolicLink(
                    atPath: programs.appending(name).string, withDestinationPath: built.appending(name).string)
            }
            #expect(
                FileManager.default.createFile(
                    atPath: programs.appending("log-manager").string,
                    contents: Data("#!/bin/sh\nexec sleep 3600\n".utf8), attributes: [.posixPermissions: 0o755]))
            try await run(duration: "1h", programs: programs) { run, directory in
                let group = try #require(run.processIdentifier)
                _ = try await run.line("the first line") { $0.hasPrefix("sampling ") }
                #expect(kill(-group, SIGINT) == 0)
                let end = try await run.end(within: .seconds(60))
                #expect(end == .exited(130))
                // The recorder may have started, and makes this directory then.
                let recordings = directory.appending("recordings").string
                let names = (try? FileManager.default.contentsOfDirectory(atPath: recordings)) ?? []
                #expect(names.allSatisfy { $0.hasPrefix(".") }, "\(names)")
            }
        }
    }

    @Test func portsThatAreTakenAreSaid() async throws {
        try await run(duration: "1h") { first, _ in
            _ = try await first.line("the session's name") { $0.hasPrefix("recording session ") }
            let environment = try Self.environment(of: first)
            try await withTemporaryDirectory { directory in
                let second = environment.merging(["DATA": directory.string]) { $1 }
                let programs = try ProductsDirectory.executable("recorder").removingLastComponent()
                try await ProgramUnderTest.run(
                    executable: "/bin/sh", arguments: [Self.script.string, programs.string], environment: second,
                    in: directory
                ) { run in
                    let end = try await run.end(within: .seconds(60))
                    #expect(end == .exited(69))
                    #expect(run.standardError.contains("is it running already?"))
                }
            }
            let group = try #require(first.processIdentifier)
            #expect(kill(-group, SIGINT) == 0)
            let end = try await first.end(within: .seconds(60))
            #expect(end == .exited(0))
        }
    }

    @Test func aRecordingOfOnesOwnIsReplayed() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending("mine.csv")
            let rows = (0..<50).map { "\(Double($0) / 50),0.1,0.2,0.\($0)" }
            try ("t,x,y,z\n" + rows.joined(separator: "\n")).write(
                toFile: file.string, atomically: true, encoding: .utf8)
            try await run(duration: "2s", replay: file) { run, _ in
                let end = try await run.end(within: .seconds(60))
                #expect(end == .exited(0))
                // The whole file, including samples replayed while the other programs started.
                #expect(run.standardOutput.contains(": 50 samples of 1 stream in 1 file: whole"))
            }
        }
    }

    @Test func aFileThatIsNotThereIsNamed() async throws {
        try await run(duration: "1s", replay: "/no/such/file.csv") { run, _ in
            let end = try await run.end(within: .seconds(60))
            #expect(end == .exited(69))
            #expect(run.standardError.contains("/no/such/file.csv"))
        }
    }

    /// Runs the script on ports and in a directory of its own, and checks that it leaves no process behind.
    /// - Parameter programs: the directory of the programs, if not the tested ones.
    private func run(
        duration: String, replay: FilePath? = nil, programs: FilePath? = nil,
        _ body: (ProgramUnderTest, FilePath) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let ports = try FreePort.endpoints(10)
            var environment = [
                "DURATION": duration, "DATA": directory.string, "HOLDFAST_SENSOR_PUBLISHER_PUBLISH": ports[0],
                "HOLDFAST_SENSOR_PUBLISHER_REPLY": ports[1], "HOLDFAST_RECORDER_SUBSCRIBE": ports[0],
                "HOLDFAST_RECORDER_PUBLISH": ports[2], "HOLDFAST_RECORDER_REPLY": ports[3],
                "HOLDFAST_LOG_MANAGER_SUBSCRIBE": ports[2], "HOLDFAST_LOG_MANAGER_PUBLISH": ports[4],
                "HOLDFAST_LOG_MANAGER_REPLY": ports[5], "HOLDFAST_LOG_MANAGER": ports[5],
                "HOLDFAST_STEP_COUNTER_SUBSCRIBE": ports[0], "HOLDFAST_STEP_COUNTER_PUBLISH": ports[6],
                "HOLDFAST_STEP_COUNTER_REPLY": ports[7], "HOLDFAST_ARCHIVER_SUBSCRIBE": ports[2],
                "HOLDFAST_ARCHIVER_PUBLISH": ports[8], "HOLDFAST_ARCHIVER_REPLY": ports[9],
                "HOLDFAST_CONSOLE_LISTEN": "0", "HOLDFAST_CONSOLE_REPLY": "tcp://127.0.0.1:*",
            ]
            environment["REPLAY"] = replay?.string
            let built = try ProductsDirectory.executable("recorder").removingLastComponent()
            try await ProgramUnderTest.run(
                executable: "/bin/sh", arguments: [Self.script.string, (programs ?? built).string],
                environment: environment, in: directory
            ) { run in
                try await body(run, directory)
            }
            #expect(try Self.processes(mentioning: ports[0]).isEmpty)
        }
    }

    private static let script = FilePath(#filePath).removingLastComponent().appending("../../Scripts/run")

    /// The environment variables of a run.
    private static func environment(of run: ProgramUnderTest) throws -> [String: String] {
        let path = "/proc/\(try #require(run.processIdentifier))/environ"
        let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        let pairs = text.split(separator: "\0").map { $0.split(separator: "=", maxSplits: 1) }
        return pairs.filter { $0.count == 2 && ($0[0].hasPrefix("HOLDFAST_") || $0[0] == "DURATION") }
            .reduce(into: [:]) { $0[String($1[0])] = String($1[1]) }
    }

    private static func archive(in data: FilePath) throws -> FilePath {
        let names = try FileManager.default.contentsOfDirectory(atPath: data.appending("archives").string)
        let archives = names.filter { $0.hasSuffix(".zip") }
        #expect(archives.count == 1)
        return data.appending("archives").appending(try #require(archives.first))
    }

    /// The processes whose environment includes a text.
    private static func processes(mentioning text: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
            guard name.allSatisfy(\.isNumber) else { return false }
            let environment = try? Data(contentsOf: URL(filePath: "/proc/\(name)/environ"))
            return environment.map { String(decoding: $0, as: UTF8.self).contains(text) } ?? false
        }
    }
}
