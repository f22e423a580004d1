import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

/// `holdfast`, the command for all programs together.
@Suite(.timeLimit(.minutes(2)))
struct HoldfastCommandTests {
    private static let command = DocumentationPage.root.appending("packaging/holdfast")

    private static func run(_ arguments: [String]) async throws -> (end: ProgramEnd, output: String, error: String) {
        let programs = try ProductsDirectory.executable("recorder").removingLastComponent().string
        return try await ProgramUnderTest.run(
            executable: command, arguments: arguments, environment: ["HOLDFAST_PROGRAMS": programs]
        ) { program in
            let end = try await program.end(within: .seconds(60))
            return (end, program.standardOutput, program.standardError)
        }
    }

    private static func setMode(_ mode: Int, of path: FilePath) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path.string)
    }

    @Test func theDoctorLooksAtDisksKeysAndPrograms() async throws {
        try await withTemporaryDirectory { directory in
            let (data, keys) = (directory.appending("data"), directory.appending("keys"))
            let secret = keys.appending("recorder.key_secret")
            for path in [data, keys] {
                try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
            }
            try "".write(toFile: secret.string, atomically: true, encoding: .utf8)
            try Self.setMode(0o750, of: data)
            try Self.setMode(0o600, of: secret)
            let well = try await Self.run(["doctor", "--data", data.string, "--keys", keys.string])
            #expect(well.output.contains("ok    \(data) is closed to others"), "\(well)")
            #expect(well.output.contains("ok    secret keys in \(keys) are closed to others"), "\(well)")
            #expect(well.output.contains(#/a synchronised write to \S+ takes [0-9.]+ ms/#), "\(well)")
            #expect(well.output.contains("recorder "), "\(well)")

            try Self.setMode(0o755, of: data)
            try Self.setMode(0o644, of: secret)
            let open = try await Self.run(["doctor", "--data", data.string, "--keys", keys.string])
            #expect(open.end == .exited(1))
            #expect(open.output.contains("fix: chmod o-rwx \(data)\n"), "\(open)")
            #expect(open.output.contains("fix: chmod 600 \(secret)\n"), "\(open)")

            let none = try await Self.run(
                ["doctor", "--data", data.string, "--keys", directory.appending("no").string])
            #expect(none.output.contains("fix: holdfast-keys make \(directory.appending("no"))\n"), "\(none)")
        }
    }

    @Test(arguments: [
        ("verify", "recorder verify"), ("count", "step-counter count"), ("archive", "archiver create"),
        ("extract", "archiver extract"), ("usage", "log-manager usage"), ("publish", "sensor-publisher"),
        ("keys", "holdfast-keys"), ("console", "console"), ("recorder record", "recorder record"),
    ])
    func aCommandIsThatOfTheProgramThatHasIt(command: String, program: String) async throws {
        let words = program.split(separator: " ").map(String.init)
        let help = try await Tool.output(
            of: ProductsDirectory.executable(words[0]), Array(words.dropFirst()) + ["--help"])
        let result = try await Self.run(command.split(separator: " ").map(String.init) + ["--help"])
        #expect(result.end == .exited(0))
        #expect(result.output == help)
    }

    @Test(arguments: ["nonsense", "doctor --nonsense x", "demo --data"])
    func whatMakesNoSenseIsRefused(line: String) async throws {
        let result = try await Self.run(line.split(separator: " ").map(String.init))
        #expect(result.end == .exited(64))
        #expect(result.error.contains("holdfast demo"))
    }
}
