import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

/// `holdfast`, the command for all programs together.
@Suite(.timeLimit(.minutes(2)))
struct HoldfastCommandTests {
    private static let command = DocumentationPage.root.appending("packaging/holdfast")

    /// - Parameter programs: the directory of the programs, if not the tested ones.
    private static func run(
        _ arguments: [String], environment: [String: String] = [:], programs: FilePath? = nil
    ) async throws -> (end: ProgramEnd, output: String, error: String) {
        var environment = environment
        let built = try ProductsDirectory.executable("recorder").removingLastComponent()
        environment["HOLDFAST_PROGRAMS"] = (programs ?? built).string
        return try await ProgramUnderTest.run(executable: command, arguments: arguments, environment: environment) {
            program in
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

    @Test func theDoctorAsksProgramsWithTheirKeys() async throws {
        try await Locked.run { locked in
            try await locked.start("sensor-publisher", ["--signal", "walk", "--start-stopped"]) { publisher in
                try await locked.start("recorder", ["--subscribe", publisher.ready.publish]) { recorder in
                    func expect(health: String, finding: String) async throws {
                        try await eventually("the recorder is \(health)", within: .seconds(40)) {
                            try await locked.run("recorder", ["health", "--reply", recorder.ready.reply])
                                .output.contains("recorder: \(health),")
                        }
                        let result = try await Self.run(
                            ["doctor", "--data", locked.directory.string, "--keys", locked.keys.string],
                            environment: ["HOLDFAST_RECORDER_REPLY": recorder.ready.reply])
                        #expect(result.output.contains(finding), "\(result)")
                    }
                    try await expect(health: "ok", finding: "ok    recorder runs and is well\n")
                    try publisher.program.send(.kill)
                    try await expect(health: "degraded", finding: "WRONG recorder is degraded: ")
                }
            }
        }
    }

    @Test(
        arguments: [
            ([], [:], "--signal walk:placement=wrist,cadence=1.8 --device left-wrist"),
            (["--device", "phone"], [:], "--signal walk:placement=wrist,cadence=1.8 --device phone"),
            (["--replay=walk.csv"], [:], "--replay=walk.csv"),
            ([], ["HOLDFAST_LISTEN_HTTP": "8080"], ""),
            (["--device", "phone"], ["HOLDFAST_SENSOR_PUBLISHER_SERIAL": "/dev/ttyUSB0"], "--device phone"),
        ] as [([String], [String: String], String)])
    func aWalkIsMadeOnlyWithoutASource(
        options: [String], environment: [String: String], passed: String
    ) async throws {
        try await withTemporaryDirectory { programs in
            // It ends before `up` waits for it.
            #expect(
                FileManager.default.createFile(
                    atPath: programs.appending("sensor-publisher").string,
                    contents: Data("#!/bin/sh\necho \"given: $*\" >&2\nexit 78\n".utf8),
                    attributes: [.posixPermissions: 0o755]))
            let result = try await Self.run(["up"] + options, environment: environment, programs: programs)
            #expect(result.end == .exited(78))
            #expect(result.error.contains("given: \(passed)\n"), "\(result)")
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
