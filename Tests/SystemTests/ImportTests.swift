import Foundation
import SystemPackage
import TestSupport
import Testing

/// `recorder import`, and further commands on imported sessions.
@Suite(.timeLimit(.minutes(2)))
struct ImportTests {
    /// A table of a minute, with steps.
    private static let walk =
        "time,x,y,z\n"
        + (0..<3000).map { index in
            let seconds = Double(index) / 50
            return "\(1_795_255_200 + seconds),0.01,-0.02,\(1 + 0.3 * sin(seconds * 12))\n"
        }.joined()

    private static func run(
        _ program: String, _ arguments: [String], in directory: FilePath, environment: [String: String] = [:]
    ) async throws -> (end: ProgramEnd, output: String, error: String) {
        try await ProgramUnderTest.run(
            executable: ProductsDirectory.executable(program), arguments: arguments, environment: environment,
            in: directory
        ) { run in
            let end = try await run.end(within: .seconds(60))
            return (end, run.standardOutput, run.standardError)
        }
    }

    @Test func aSessionOfAFileIsLikeAnyOther() async throws {
        try await withTemporaryDirectory { directory in
            try Data(Self.walk.utf8).write(to: URL(filePath: directory.appending("walk.csv").string))
            let made = try await Self.run(
                "recorder",
                ["import", "walk.csv", "--unit", "g", "--device", "left-wrist", "--format", "csv"], in: directory)
            #expect(made.end == .exited(0), "\(made)")
            let line =
                "walk: 3000 samples of 1 stream, 0 gaps with 0 samples, 59.98 s from 2026-11-21T10:00:00.000000Z, "
                + "in ./data/recordings/walk\n"
            #expect(made.output == line)
            let session = "data/recordings/walk"
            let verified = try await Self.run("recorder", ["verify", session], in: directory)
            #expect(verified.end == .exited(0), "\(verified)")
            let info = try await Self.run("recorder", ["info", session], in: directory)
            #expect(info.output.contains("left-wrist/accelerometer"), "\(info)")
            let count = try await Self.run("step-counter", ["count", session, "--format", "csv"], in: directory)
            #expect(count.end == .exited(0), "\(count)")
            #expect(count.output.split(separator: "\n").count == 2, "\(count)")
            for format in ["csv", "bids", "mcap", "xdf"] {
                let exported = try await Self.run(
                    "recorder", ["export", session, "--to", format, "--format", format], in: directory)
                #expect(exported.end == .exited(0), "\(exported)")
            }
        }
    }

    @Test func anExportAndAReportAreNotForEverybody() async throws {
        try await withTemporaryDirectory { directory in
            try Data(Self.walk.utf8).write(to: URL(filePath: directory.appending("walk.csv").string))
            let made = try await Self.run("recorder", ["import", "walk.csv", "--unit", "g"], in: directory)
            #expect(made.end == .exited(0), "\(made)")
            let recorder = try ProductsDirectory.executable("recorder")
            for command in ["export --to out --format csv", "report --to walk.html"] {
                let script = "cd '\(directory)' && umask 022 && '\(recorder)' \(command) data/recordings/walk"
                try await Tool.output(of: "sh", ["-c", script])
            }
            for (name, mode) in [("out/walk/provenance.json", 0o640), ("walk.html", 0o640), ("out/walk", 0o750)] {
                let permissions = try directory.appending(name).stat().permissions
                #expect(Int(permissions.rawValue) == mode, "\(name)")
            }
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible, "a small disk needs a mount namespace"))
    func anImportLeavesRoomForOtherSessions() async throws {
        try await withTemporaryDirectory { directory in
            try Data(Self.walk.utf8).write(to: URL(filePath: directory.appending("walk.csv").string))
            let disk = try SmallDisk(megabytes: 48, at: directory.appending("data"))
            let (end, error) = try await ProgramUnderTest.run(
                "recorder", arguments: ["import", "walk.csv"], in: directory, on: disk
            ) { program in
                let end = try await program.end()
                return (end, program.standardError)
            }
            #expect(end != .exited(0))
            #expect(error.contains("less than 64 MiB of its disk would stay free"), "\(error)")
        }
    }

    @Test func howFarItIsIsShownOnATerminalAlone() async throws {
        try await withTemporaryDirectory { directory in
            try Data(Self.walk.utf8).write(to: URL(filePath: directory.appending("walk.csv").string))
            let recorder = try ProductsDirectory.executable("recorder")
            // script(1) gives a program a terminal.
            func onTerminal(_ arguments: String) async throws -> String {
                let command = "cd '\(directory)' && '\(recorder)' \(arguments)"
                return try await Tool.output(of: "script", ["-q", "-e", "-c", command, "/dev/null"])
            }
            let made = try await onTerminal("import walk.csv --unit g")
            #expect(made.contains("\rwalk.csv: 65.5 kB\u{1B}[K"), "\(made)")
            #expect(made.contains("\r\u{1B}[Kwalk: 3000 samples of 1 stream"), "\(made)")
            let exported = try await onTerminal("export data/recordings/walk --to out --format csv")
            for step in ["checking", "exporting"] {
                let line = try Regex("\rwalk: \(step) [1-9][0-9]? % of [0-9.]+ kB\u{1B}\\[K")
                #expect(exported.contains(line), "\(exported)")
            }
            #expect(exported.contains("\r\u{1B}[Kwalk: 3000 samples, "), "\(exported)")
            let piped = try await Self.run(
                "recorder", ["export", "data/recordings/walk", "--to", "again", "--format", "csv"], in: directory)
            #expect(piped.error.isEmpty && piped.output.hasPrefix("walk: 3000 samples, "), "\(piped)")
        }
    }

    /// A person counted 610 steps.
    @Test(
        .enabled(
            if: Readers.hasRecording,
            "steps are NOT counted in a published recording: Tests/ExportTests/Readers/setup could not get it from GitHub"
        ))
    func stepsOfAPublishedRecordingAreCounted() async throws {
        try await withTemporaryDirectory { directory in
            let made = try await Self.run(
                "recorder", ["import", Readers.recording.string, "--session", "walk"], in: directory)
            #expect(made.end == .exited(0), "\(made)")
            #expect(made.output.contains("71400 samples of 1 stream, 0 gaps"), "\(made)")
            let count = try await Self.run(
                "step-counter", ["count", "data/recordings/walk", "--format", "json"], in: directory)
            let steps = count.output.firstMatch(of: #/"steps" ?: ?(\d+)/#).flatMap { Int($0.output.1) } ?? 0
            #expect((580...640).contains(steps), "\(count)")
        }
    }

    @Test func aZoneWestOfGreenwichIsTaken() async throws {
        try await withTemporaryDirectory { directory in
            let table = "time,x,y,z\n2026-11-21T10:00:00,0,0,1\n2026-11-21T10:00:00.02,0,0,1\n"
            try Data(table.utf8).write(to: URL(filePath: directory.appending("lab.csv").string))
            for (number, zone) in [["--zone", "-05:00"], ["--zone=-05:00"]].enumerated() {
                let made = try await Self.run(
                    "recorder", ["import", "lab.csv", "--session", "lab-\(number)"] + zone, in: directory)
                #expect(made.end == .exited(0), "\(made)")
                let file = directory.appending("data/recordings/lab-\(number)/report.json")
                let report = try String(contentsOf: URL(filePath: file.string), encoding: .utf8)
                #expect(report.contains("2026-11-21T15:00:00"), "\(report)")
            }
        }
    }

    @Test func filesAreImportedEachByItself() async throws {
        try await withTemporaryDirectory { directory in
            let files = [("a.csv", Self.walk), ("bad.csv", "nothing\n"), ("lossy.csv", Self.walk + "never,1,2,3\n")]
            for (name, text) in files {
                try Data(text.utf8).write(to: URL(filePath: directory.appending(name).string))
            }
            let environment = ["HOLDFAST_DATA": directory.appending("elsewhere").string]
            let made = try await Self.run(
                "recorder", ["import"] + files.map(\.0), in: directory, environment: environment)
            #expect(made.end == .exited(1), "\(made)")
            #expect(made.error.contains("bad.csv"), "\(made)")
            let lossy = try await Self.run(
                "recorder", ["verify", "elsewhere/recordings/lossy"], in: directory)
            #expect(lossy.end == .exited(3), "\(lossy)")
            let again = try await Self.run(
                "recorder", ["import", "lossy.csv", "--session", "lossy-2"], in: directory, environment: environment)
            #expect(again.end == .exited(3), "\(again)")
            let placed = try await Self.run("recorder", ["import", "a.csv", "--data", "there"], in: directory)
            #expect(placed.output.hasSuffix(", in there/recordings/a\n"), "\(placed)")
            let refused = try await Self.run("recorder", ["import", "a.csv"], in: directory, environment: environment)
            #expect(refused.end == .exited(1))
            #expect(refused.error.contains("--session"), "\(refused)")
        }
    }

    @Test(arguments: [
        ["--session", "s", "a.csv", "b.csv"], ["--device", "a/b", "a.csv"], ["--zone", "CET", "a.csv"],
        ["--start", "today", "a.csv"], ["--maximum-file-size", "1", "a.csv"], ["--format", "xlsx", "a.csv"], [],
    ])
    func wrongOptionsAreRefused(_ arguments: [String]) async throws {
        try await withTemporaryDirectory { directory in
            let run = try await Self.run("recorder", ["import"] + arguments, in: directory)
            #expect(run.end == .exited(64), "\(run)")
        }
    }
}
