import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// All programs together: a session is recorded, archived, uploaded, marked and removed, while the archiver is killed repeatedly.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ArchivingTests {
    /// No step-counter runs: the archive's result has the steps that step-counter's command finds in the session's files.
    @Test func stepsOfASessionAreInItsResult() async throws {
        let walk = ["--signal", "walk:cadence=1.8", "--device", "wrist", "--rate", "100"]
        try await Rig.run(publishing: walk) { rig in
            try await rig.start(
                RecordingStart(session: "walk", task: "Walk", streams: ["wrist/"], maximumFileSize: 40_000))
            try await eventually("a walk") {
                try await rig.recordings.send(RecordingStatus(session: "walk"), timeout: .seconds(60))
                    .logs.contains { $0.samples >= 800 }
            }
            let session = try await rig.stop("walk").directory
            let (made, extracted) = (rig.directory.appending("made"), rig.directory.appending("extracted"))
            let archiver = try ProductsDirectory.executable("archiver")
            for options in [[], ["--count-steps", "accelerometer", "--count-steps", "gyro"]] {
                try await Tool.output(of: archiver, ["create", session, "--to", made.string] + options)
                let archive = made.appending("walk.zip").string
                #expect(try await Tool.run(archiver, ["verify", archive]).isSuccess)
                try await Tool.output(of: archiver, ["extract", archive, "--to", "\(extracted)\(options.count)"])
            }
            func results(_ directory: String) throws -> [[String: JSONValue]] {
                let bytes = try Data(contentsOf: URL(filePath: directory + "/taskResult.json"))
                guard case .object(let task) = try WireCoding.decode(JSONValue.self, from: bytes),
                    case .array(let results)? = task["asyncResults"]
                else { throw TestFailure("taskResult.json has no asyncResults") }
                return results.compactMap { if case .object(let result) = $0 { result } else { nil } }
            }
            #expect(try results("\(extracted)0").allSatisfy { $0["type"] == .string("file") })
            let all = try results("\(extracted)4")
            let steps = try #require(all.first)
            #expect(all.dropFirst().allSatisfy { $0["type"] == .string("file") } && all.count > 2)
            #expect(steps["type"] == .string("steps") && steps["stream"] == .string("wrist/accelerometer"))

            let json = try await Tool.output(
                of: ProductsDirectory.executable("step-counter"), ["count", "--format", "json", session])
            struct Counts: Decodable {
                struct Recording: Decodable {
                    var numberOfSteps: Int
                    var samples: Int
                }

                var recordings: [Recording]
            }
            let count = try #require(try JSONDecoder().decode(Counts.self, from: Data(json.utf8)).recordings.first)
            #expect(count.numberOfSteps > 5)
            #expect(steps["numberOfSteps"] == .integer(count.numberOfSteps))
            #expect(steps["samples"] == .integer(count.samples))
            guard case .array(let bouts)? = steps["bouts"] else { throw TestFailure("no bouts: \(steps)") }
            #expect(!bouts.isEmpty)
        }
    }

    private static let sessions = (0..<4).map { "session-\($0)" }

    /// A running archiver with its client.
    private struct Archiver {
        let program: ProgramUnderTest
        let client: RequestClient

        func list() async throws -> [ArchiveStatus] {
            try await client.send(ArchiveList(), timeout: .seconds(60)).archives
        }
    }

    private static func withArchiver(
        in data: FilePath, to receiver: FilePath, _ keeper: LogKeeper, options: [String] = [],
        _ body: (Archiver) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run(
            "archiver",
            arguments: [
                "--data", data.string, "--subscribe", "tcp://127.0.0.1:9", "--log-manager", keeper.ready.reply,
                "--upload-to", "file://\(receiver)", "--keep-archives", "0s", "--keep-recordings", "0s",
            ] + ProgramUnderTest.anyPorts + options, in: data
        ) { program in
            let ready = try await program.ready()
            try await body(
                Archiver(
                    program: program,
                    client: RequestClient(context: keeper.context, thread: keeper.thread, endpoint: ready.reply)))
        }
    }

    private static func record(with rig: Rig) async throws {
        for session in sessions {
            _ = try await rig.recordings.send(
                RecordingStart(session: session, streams: ["phone/"], format: "csv", maximumFileSize: 4_000),
                timeout: .seconds(60))
        }
        try await eventually("some samples") {
            let state = try await rig.recordings.send(
                RecordingStatus(session: sessions[0]), timeout: .seconds(60))
            return state.logs.reduce(0) { $0 + $1.samples } >= 300
        }
        for session in sessions {
            _ = try await rig.recordings.send(RecordingStop(session: session), timeout: .seconds(60))
        }
    }

    @Test func sessionsReachTheReceiverWhateverIsKilled() async throws {
        try await Rig.run(publishing: ["--signal", "sine", "--device", "phone", "--stream", "gyro", "--rate", "500"]) {
            rig in
            let data = rig.directory
            let receiver = data.appending("receiver")
            try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
            try await LogKeeper.run(in: data, ["--subscribe", rig.recorderReady.publish, "--rescan-interval", "1s"]) {
                keeper in
                try await Self.record(with: rig)
                let files = try await eventualValue("the files of all sessions") {
                    let files = try await keeper.paths()
                    return files.count > Self.sessions.count ? files : nil
                }
                // Killed at a different moment after each start; the exact moments depend on the machine anyway.
                for number in 0..<6 {
                    try await Self.withArchiver(in: data, to: receiver, keeper) { archiver in
                        try await Task.sleep(for: .milliseconds(number * 25))
                        try archiver.program.send(.kill)
                        #expect(try await archiver.program.end() == .killed(by: 9))
                    }
                }
                try await Self.withArchiver(in: data, to: receiver, keeper) { archiver in
                    try await eventually("all log files are gone", within: .seconds(60)) {
                        try await keeper.paths().isEmpty
                    }
                    try await eventually("all sessions are settled") {
                        let list = try await archiver.list()
                        return list.count == Self.sessions.count
                            && list.allSatisfy { $0.state == .marked && $0.path == nil }
                    }
                    for status in try await archiver.list() {
                        // There is one object, under the session's name, and its hash matches the receipt.
                        let object = receiver.appending("\(status.session).zip")
                        #expect(try await Tool.sha256(object) == status.sha256)
                    }
                    try archiver.program.send(.terminate)
                    #expect(try await archiver.program.end() == .exited(0))
                }
                let objects = try FileManager.default.contentsOfDirectory(atPath: receiver.string)
                #expect(objects.filter { !$0.hasPrefix(".") }.sorted() == Self.sessions.map { "\($0).zip" })
                let left = try FileManager.default.contentsOfDirectory(atPath: data.appending("archives").string)
                #expect(left.sorted() == Self.sessions.map { "\($0).receipt.json" })
                try await Self.expectAll(files, in: receiver)
            }
        }
    }

    /// Checks that every original log file is in a whole archive.
    private static func expectAll(_ files: [String], in receiver: FilePath) async throws {
        for session in sessions {
            let archive = receiver.appending("\(session).zip")
            let (end, text) = try await ProgramUnderTest.run("archiver", arguments: ["verify", archive.string]) {
                program in
                let end = try await program.end()
                return (end, program.standardOutput)
            }
            #expect(end == .exited(0), "\(text)")
            let listing = try await Tool.output(
                of: Tool.require("python3"), ["-m", "zipfile", "-l", archive.string])
            for file in files where file.hasPrefix("recordings/\(session)/") {
                #expect(listing.contains(FilePath(file).lastComponent?.string ?? file))
            }
        }
    }

    @Test func theConfigurationIsCheckedAtTheStart() async throws {
        try await withTemporaryDirectory { data in
            try Data("no certificate".utf8).write(to: URL(filePath: data.appending("bad.pem").string))
            let wrong = [
                ["--certificate", data.appending("bad.pem").string], ["--upload-to", "ftp://host/"],
                ["--keep-archives", "never"],
            ]
            for options in wrong {
                let end = try await ProgramUnderTest.run(
                    "archiver", arguments: ["--data", data.string, "--check"] + options, in: data
                ) { try await $0.end() }
                #expect(end != .exited(0), "\(options)")
            }
            let good = try await ProgramUnderTest.run(
                "archiver", arguments: ["--data", data.string, "--check"], in: data
            ) { try await $0.end() }
            #expect(good == .exited(0))
        }
    }
}
