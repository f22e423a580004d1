import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A log-manager and recorders share a data directory: files are removed during the recording, and a recorder is killed.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RemovedSegmentTests {
    private static let noise = ["--signal", "noise:seed=1", "--rate", "500", "--batch", "5", "--device", "phone"]

    /// The part of `session.json` that is used here.
    private struct Record: Decodable {
        struct File: Decodable, Hashable {
            var name: String
            var bytes: Int
            var samples: Int
            var sha256: String
        }
        struct Log: Decodable {
            var files: [File]
        }
        var logs: [Log]
        var shard: String?
    }

    private static func record(in directory: FilePath) throws -> Record {
        try JSONDecoder().decode(
            Record.self, from: Data(contentsOf: URL(filePath: directory.appending("session.json").string)))
    }

    /// Removes listed finished files as log-manager does.
    /// - Returns: the number of removed files, and of their samples.
    @discardableResult
    private static func removeAll(in directory: FilePath) throws -> (files: Int, samples: Int) {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.string)
        let files = try record(in: directory).logs.flatMap(\.files).filter { names.contains($0.name) }
        let path = directory.appending("removed.ndjson")
        var text = (try? String(contentsOfFile: path.string, encoding: .utf8)) ?? ""
        for file in files {
            text += #"{"bytes":\#(file.bytes),"date":"2026-11-22T00:00:00Z","name":"\#(file.name)","#
            text += #""reason":"whenFull","#
            text += #""receipt":{"etag":[1,null]},"sha256":"\#(file.sha256)","uploaded":"2026-11-21T23:00:00Z"}"# + "\n"
        }
        try text.write(toFile: path.string, atomically: true, encoding: .utf8)
        for file in files { try FileManager.default.removeItem(atPath: directory.appending(file.name).string) }
        return (files.count, files.reduce(0) { $0 + $1.samples })
    }

    /// Answers `logs.get` as long as a closure runs.
    private static func withLogManager(
        _ configuration: LogConfiguration, in cutoff: Cutoff, _ body: (String) async throws -> Void
    ) async throws {
        var router = RequestRouter()
        router.on(LogsGet.self) { request in
            guard request.name == configuration.name else { throw RequestError(.unknownLog, "no such log") }
            return configuration
        }
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: router, context: cutoff.context, thread: cutoff.thread)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await server.run() }
            try await body(server.endpoint)
            group.cancelAll()
        }
    }

    private static func recorder(_ arguments: String...) async throws -> (end: ProgramEnd, output: String) {
        try await ProgramUnderTest.run("recorder", arguments: arguments) { program in
            let end = try await program.end()
            return (end, program.standardOutput)
        }
    }

    @Test func aSessionWhoseFilesGoSurvivesAKill() async throws {
        try await Cutoff.run { cutoff in
            let session = cutoff.directory.appending("recordings/walk")
            let configuration = LogConfiguration(
                name: "phone_accelerometer", format: "csv", maximumFileSize: 4_000, maximumFileAge: 0)
            try await cutoff.publisher(Self.noise) { _ in
                try await Self.withLogManager(configuration, in: cutoff) { logManager in
                    var removed = 0
                    var removedSamples = 0
                    func removeAll() throws {
                        let (files, samples) = try Self.removeAll(in: session)
                        removed += files
                        removedSamples += samples
                    }
                    try await cutoff.recorder(["--log-manager", logManager, "--log-manager-limit", "10s"]) { recorder in
                        // The publisher must be known when the session starts.
                        try await cutoff.start(RecordingStart(session: "walk", streams: ["phone/"]))
                        try await cutoff.more(300, in: "walk")
                        // A file is listed, and may be removed, a little later than its samples are recorded.
                        try await eventually("a finished file") {
                            try removeAll()
                            return removed > 0
                        }
                        try await cutoff.more(300, in: "walk")
                        try removeAll()
                        try await cutoff.more(100, in: "walk")
                        try await cutoff.kill(recorder)
                    }
                    try removeAll()
                    // Without log-manager: the log keeps its original configuration.
                    try await cutoff.recorder(["--log-manager", "tcp://127.0.0.1:9"]) { recorder in
                        try await cutoff.more(300, in: "walk")
                        let result = try await cutoff.stop("walk")
                        #expect(result.report.isWhole, "\(result.report)")
                        let log = try #require(result.logs.first)
                        #expect(log.files.count > removed + 1)
                        #expect(log.files.allSatisfy { $0.hasSuffix(".csv") })
                        #expect(Set(log.files).count == log.files.count)
                        #expect(log.samples == result.report.streams.first?.expected)
                        try recorder.send(.terminate)
                        #expect(try await recorder.end() == .exited(0))
                    }
                    let whole = try await Self.recorder("verify", session.string)
                    #expect(whole.end == .exited(0), "\(whole.output)")
                    let files = removed == 1 ? "1 file" : "\(removed) files"
                    let summary = "; \(files) removed after upload, with \(removedSamples) samples: whole\n"
                    #expect(whole.output.hasSuffix(summary), "\(whole.output)")
                    let info = try await Self.recorder("info", session.string)
                    let removal = "\nphone/accelerometer: \(files) removed after upload: phone_"
                    #expect(info.output.contains(removal), "\(info.output)")

                    // The files of a finished session can all be removed too; a copy works as well.
                    try removeAll()
                    let copy = cutoff.directory.appending("copy")
                    let recovered = try await Self.recorder("recover", session.string, "--output", copy.string)
                    #expect(recovered.end == .exited(0), "\(recovered.output)")
                    let rest = "walk: 0 samples of 1 stream in 0 files; \(removed) files removed"
                    #expect(recovered.output.contains(rest), "\(recovered.output)")

                    // A missing file that is not listed as removed is damage.
                    let path = session.appending("removed.ndjson")
                    let lines = try String(contentsOfFile: path.string, encoding: .utf8).split(separator: "\n")
                    try (lines.dropLast().joined(separator: "\n") + "\n")
                        .write(toFile: path.string, atomically: true, encoding: .utf8)
                    let damaged = try await Self.recorder("verify", session.string)
                    #expect(damaged.end == .exited(1))
                    #expect(damaged.output.contains(": is missing\n"), "\(damaged.output)")
                }
            }
        }
    }

    @Test func recordersOfDifferentShardsShareADirectory() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(Self.noise) { _ in
                // Of two shards, "phone" is in the second.
                try await cutoff.recorder(["--shard", "2/2"]) { recorder in
                    try await cutoff.start(RecordingStart(session: "walk", streams: ["phone/"]))
                    try await cutoff.more(100, in: "walk")
                    for (arguments, complaint) in [
                        ([], "a recorder uses it"), (["--shard", "2/2"], "a recorder with shard 2/2 uses it"),
                    ] {
                        try await ProgramUnderTest.run(
                            "recorder",
                            arguments: ProgramUnderTest.anyPorts + ["--data", cutoff.directory.string] + arguments,
                            in: cutoff.directory
                        ) { second in
                            try await second.complaint(containing: complaint)
                            #expect(try await second.end() == .exited(78))
                        }
                    }
                    // The other shard's recorder leaves the session alone, even when the session's own recorder is gone.
                    try await cutoff.kill(recorder)
                    try await ProgramUnderTest.run(
                        "recorder",
                        arguments: ProgramUnderTest.anyPorts
                            + [
                                "--data", cutoff.directory.string, "--shard", "1/2", "--subscribe",
                                cutoff.publisherEndpoint.publish,
                            ],
                        in: cutoff.directory
                    ) { other in
                        let ready = try await other.ready()
                        let client = try RequestClient(
                            context: cutoff.context, thread: cutoff.thread, endpoint: ready.reply)
                        let list = try await client.send(RecordingList(), timeout: .seconds(60))
                        #expect(list.recordings.isEmpty)
                        let error = try await #require(throws: RequestError.self) {
                            try await client.send(
                                RecordingStart(session: "run", streams: ["phone/accelerometer"]), timeout: .seconds(60))
                        }
                        #expect(error.message.contains("shard 2/2"))
                        try await cutoff.recorder(["--shard", "2/2"]) { _ in
                            try await cutoff.more(100, in: "walk")
                            #expect(try await cutoff.stop("walk").report.isWhole)
                        }
                    }
                }
                let record = try Self.record(in: cutoff.directory.appending("recordings/walk"))
                #expect(record.shard == "2/2")
            }
        }
    }
}
