import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// The real program, as a person uses it.
@Suite(.timeLimit(.minutes(2)))
struct ProgramTests {
    private func run(
        _ arguments: [String], _ body: @Sendable (ProgramUnderTest, FilePath, [String]) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { data in
            let session = try StoredSession(in: data)
            let paths = try (1...3).map { try session.finish(bytes: 10_000, at: "2026-11-20T23:53:0\($0)Z") }
            try await ProgramUnderTest.run(
                "log-manager", arguments: ["--data", data.string] + ProgramUnderTest.anyPorts + arguments
            ) { try await body($0, data, paths) }
        }
    }

    /// The output of a subcommand.
    private func output(_ arguments: String...) async throws -> String {
        try await ProgramUnderTest.run("log-manager", arguments: arguments) { program in
            let programEnd = try await program.end()
            #expect(programEnd == .exited(0))
            return program.standardOutput
        }
    }

    @Test func usageAndListArePrinted() async throws {
        try await run([]) { manager, _, paths in
            let reply = try await manager.ready().reply
            let usage = try await output("usage", "--reply", reply)
            #expect(usage.hasPrefix("log         files  bytes  pending files  pending bytes  being written  oldest\n"))
            #expect(
                usage.contains(
                    "phone_gyro      3  30000              3          30000              0  2026-11-20T23:53:01"))
            #expect(usage.contains("30.0 kB in finished files, 30.0 kB of them not uploaded"))
            #expect(try await output("usage", "--reply", reply, "--format", "json").contains(#""totalBytes":30000"#))
            let csv = try await output("list", "--reply", reply, "--format", "csv").split(separator: "\n")
            #expect(csv.first == "path,bytes,finished,uploaded")
            #expect(csv.dropFirst().map { String($0.prefix { $0 != "," }) } == paths)
            let lines = try await output("list", "--pending", "--reply", reply, "--format", "ndjson")
            #expect(lines.split(separator: "\n").count == 3 && lines.contains(#""uploaded":false"#))
            try manager.send(.terminate)
            let managerEnd = try await manager.end()
            #expect(managerEnd == .exited(0))
        }
    }

    @Test(arguments: [(nil, 0o640, 0o750), ("0660", 0o660, 0o770), ("0600", 0o600, 0o700)])
    func filesHaveTheirMode(mode: String?, file: Int, directory: Int) async throws {
        try await run(mode.map { ["--file-mode", $0] } ?? []) { manager, data, _ in
            _ = try await manager.ready()
            let catalog = data.appending("catalog")
            let files = try FileManager.default.contentsOfDirectory(atPath: catalog.string)
                .filter { $0.hasPrefix("catalog.sqlite") }
            #expect(files.count >= 2)
            for name in files { #expect(try Self.mode(of: catalog.appending(name)) == file, "\(name)") }
            #expect(try Self.mode(of: catalog) == directory)
        }
    }

    private static func mode(of path: FilePath) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path.string)[.posixPermissions] as? Int)
    }

    @Test func aSecondOneOnTheDataDirectoryIsRefused() async throws {
        try await run([]) { manager, data, _ in
            _ = try await manager.ready()
            try await ProgramUnderTest.run(
                "log-manager", arguments: ["--data", data.string] + ProgramUnderTest.anyPorts
            ) { second in
                let secondEnd = try await second.end()
                #expect(secondEnd == .exited(78))
                #expect(second.standardError.contains("a log-manager uses it"))
            }
        }
    }

    @Test func aDryRunRemovesNothing() async throws {
        try await run(["--dry-run", "--when-full", "oldest", "--total-threshold", "15kB"]) { program, data, paths in
            let programEnd = try await program.end()
            #expect(programEnd == .exited(0))
            let text = program.standardOutput
            #expect(text.contains(paths[0]) && text.contains(paths[1]) && !text.contains(paths[2]))
            #expect(text.contains("2 files of 20.0 kB would be removed; nothing was"))
            for path in paths { #expect(FileManager.default.fileExists(atPath: data.appending(path).string)) }
        }
    }

    @Test func aDryRunShowsTheDirectoriesOfSessions() async throws {
        try await withTemporaryDirectory { data in
            let session = try StoredSession(in: data)
            let removed = RemovedFile(
                name: "phone_gyro-20261120235301.json", bytes: 1, reason: "whenFull", date: .now)
            try RemovedFile.append([removed], in: session.directory.directory)
            try session.write("photo.jpg", bytes: 20_000)
            try await ProgramUnderTest.run(
                "log-manager",
                arguments: ["--data", data.string, "--dry-run", "--when-full", "oldest", "--total-threshold", "1kB"]
            ) { program in
                let end = try await program.end()
                #expect(end == .exited(0))
                let text = program.standardOutput
                #expect(text.contains("recordings/s "))
                #expect(text.contains("0 files of 0 B, and the directories of 1 session with 2"))
            }
            #expect(session.has("photo.jpg"))
        }
    }

    /// A dry run does not complete another run's removals either, because it publishes no events.
    @Test func aDryRunRemovesNoSessionThatWasRetired() async throws {
        try await withTemporaryDirectory { data in
            try StoredSession(in: data).finish()
            let retired = data.appending("recordings/~walk-1").string
            try FileManager.default.createDirectory(atPath: retired, withIntermediateDirectories: false)
            try await ProgramUnderTest.run(
                "log-manager", arguments: ["--data", data.string, "--dry-run", "--when-full", "oldest"]
            ) { program in
                let end = try await program.end()
                #expect(end == .exited(0))
            }
            #expect(FileManager.default.fileExists(atPath: retired))
        }
    }

    @Test func aSpoiledCatalogIsFoundByACheck() async throws {
        try await withTemporaryDirectory { data in
            for name in ["s1", "s2"] { try StoredSession(name, in: data).finish() }
            try await ProgramUnderTest.run(
                "log-manager", arguments: ["--data", data.string] + ProgramUnderTest.anyPorts
            ) { manager in
                _ = try await manager.ready()
                try manager.send(.terminate)
                let end = try await manager.end()
                #expect(end == .exited(0))
            }
            #expect(try await check(data).0 == .exited(0))
            let catalog = data.appending("catalog/catalog.sqlite").string
            let whole = try Data(contentsOf: URL(filePath: catalog))
            // Overwrites everything except the header, which identifies a database.
            try (whole.prefix(100) + Data(repeating: 0xA5, count: whole.count - 100)).write(to: URL(filePath: catalog))
            let (end, text) = try await check(data)
            #expect(end == .exited(74) && text.contains("Put a backup in its place"))
        }
    }

    private func check(_ data: FilePath) async throws -> (ProgramEnd, String) {
        try await ProgramUnderTest.run("log-manager", arguments: ["--data", data.string, "--check"]) { program in
            let end = try await program.end()
            return (end, program.standardOutput + program.standardError)
        }
    }
}
