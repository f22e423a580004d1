import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// A session that records continuously and removes its old files, with a recorder that is killed at any moment.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RingTests {
    private static let noise = ["--signal", "noise:seed=1", "--rate", "200", "--batch", "5", "--device", "phone"]

    private static func run(_ arguments: String...) async throws -> (end: ProgramEnd, output: String) {
        try await ProgramUnderTest.run("recorder", arguments: arguments) { program in
            (try await program.end(), program.standardOutput + program.standardError)
        }
    }

    private struct Removed: Decodable {
        var name: String
        var reason: String
    }

    private static func removed(in directory: FilePath) throws -> [Removed] {
        let path = directory.appending("removed.ndjson").string
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap {
            try? JSONDecoder().decode(Removed.self, from: Data($0.utf8))
        }
    }

    @Test func aRecorderThatIsKilledFinishesWhatItRemoves() async throws {
        try await Cutoff.run { cutoff in
            let directory = cutoff.directory.appending("recordings/always")
            try await cutoff.publisher(Self.noise) { _ in
                try await cutoff.recorder { recorder in
                    try await eventually("samples") { try await cutoff.published() > 20 }
                    try await cutoff.start(RecordingStart(session: "always", streams: ["phone/"], keep: 1))
                    let reply = try await cutoff.recordings.send(
                        RecordingKeep(session: "always"), timeout: .seconds(60))
                    #expect(reply.removed == nil)
                    try await eventually("a removed file") { try !Self.removed(in: directory).isEmpty }
                    try await cutoff.kill(recorder)
                }
                for round in 1...4 {
                    let before = try Self.removed(in: directory).count
                    try await cutoff.recorder { recorder in
                        // Kills as close to a removal as a test can.
                        try await eventually("more removed files in round \(round)") {
                            try Self.removed(in: directory).count > before
                        }
                        try await cutoff.kill(recorder)
                    }
                }
                try await cutoff.recorder { _ in
                    try await cutoff.more(400, in: "always")
                    let result = try await cutoff.stop("always")
                    #expect(result.report.isWhole, "\(result.report)")
                    let removed = Set(try Self.removed(in: directory).map(\.name))
                    #expect(Set(try Self.removed(in: directory).map(\.reason)) == ["keep"])
                    let log = try #require(result.logs.first)
                    // The first file was kept.
                    #expect(!removed.contains(log.files[0]))
                    let left = log.files.filter { name in
                        FileManager.default.fileExists(atPath: directory.appending(name).string)
                    }
                    #expect(Set(log.files) == removed.union(left), "each file is there or was removed by the ring")
                    #expect(removed.isDisjoint(with: left))
                    #expect(result.report.streams.first?.removedFiles == removed.count)
                }
            }
            let verified = try await Self.run("verify", directory.string)
            #expect(verified.end == .exited(0), "\(verified.output)")
            #expect(verified.output.contains("removed by the ring"))
            let info = try await Self.run("info", directory.string)
            #expect(info.output.contains("removed by the ring"))
            let out = cutoff.directory.appending("out").string
            let export = try await Self.run("export", directory.string, "--to", out, "--format", "csv")
            #expect(export.end == .exited(0), "\(export.output)")
        }
    }

    @Test func aTriggerKeepsItsTime() async throws {
        try await Rig.run(publishing: Self.noise) { rig in
            try await rig.start(RecordingStart(session: "always", streams: ["phone/"], keep: 60))
            let watch = try await ProgramUnderTest.run(
                "recorder",
                arguments: ["watch", "--when", "phone/accelerometer rate > 50", "--keep", "always", "--limit", "1"]
                    + ["--before", "1s", "--after", "1s", "--reply", rig.recorderReady.reply]
                    + ["--publisher", rig.publisherReady.publish]
            ) { program in (try await program.end(), program.standardOutput) }
            #expect(watch.0 == .exited(0), "\(watch.1)")
            #expect(watch.1.contains(": session always keeps its time"))
            let kept = try await Self.run("keep", "always", "--last", "1s", "--reply", rig.recorderReady.reply)
            #expect(kept.end == .exited(0), "\(kept.output)")
            #expect(kept.output.hasPrefix("session always keeps "))
            let result = try await rig.stop("always")
            let text = try String(
                contentsOfFile: FilePath(result.directory).appending("session.json").string, encoding: .utf8)
            #expect(text.contains("\"kept\""))
        }
    }
}
