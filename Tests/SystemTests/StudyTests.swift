import FoundationEssentials
import Messages
import SystemPackage
import TestSupport
import Testing

/// A study's own program, written from the documentation alone, runs a whole session with all programs.
@Suite(.timeLimit(.minutes(3)))
struct StudyTests {
    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"))
    func aClientOfTheDocumentationRunsAWholeStudySession() async throws {
        let walk = ["--signal", "walk:cadence=1.8", "--device", "left-wrist", "--rate", "100"]
        try await Rig.run(publishing: walk, dataIn: "data") { rig in
            let data = rig.directory.appending("data")
            let receiver = rig.directory.appending("receiver")
            try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
            let options = ["--data", data.string] + ProgramUnderTest.anyPorts
            let recorder = ["--subscribe", rig.recorderReady.publish, "--rescan-interval", "1s"]
            try await ProgramUnderTest.run(
                "step-counter", arguments: options + ["--subscribe", rig.publisherReady.publish], in: data
            ) { counter in
                let steps = try await counter.ready()
                try await LogKeeper.run(in: data, recorder) { keeper in
                    try await ProgramUnderTest.run(
                        "archiver",
                        arguments: options + recorder + [
                            "--log-manager", keeper.ready.reply, "--upload-to", "file://\(receiver)",
                        ], in: data
                    ) { archiver in
                        let archives = try await archiver.ready()
                        let output = try await Python.run(
                            FilePath(#filePath).removingLastComponent().appending("Clients/study.py"),
                            arguments: [
                                rig.recorderReady.reply, rig.recorderReady.publish, steps.reply, archives.reply,
                                archives.publish, rig.directory.appending("result.json").string,
                            ])
                        #expect(output.hasPrefix("ok "))
                        try await Self.expectTheArchiveHasEverything(
                            receiver, encoded: rig.directory.appending("result.json"))
                        // The ledger shows what became of the session, to anybody who knows its name.
                        let ledger = try String(
                            contentsOfFile: data.appending("recordings/discarded.ndjson").string, encoding: .utf8)
                        #expect(ledger.contains(output.dropFirst(3).prefix(64)))
                        try await eventually("nothing is left of the session") {
                            try FileManager.default.subpathsOfDirectory(atPath: data.string)
                                .allSatisfy { !$0.contains("participant-7") }
                        }
                    }
                }
            }
        }
    }

    /// - Parameter encoded: the result as the recorder returned it.
    private static func expectTheArchiveHasEverything(_ receiver: FilePath, encoded: FilePath) async throws {
        let archive = receiver.appending("participant-7.zip")
        func file(_ name: String) async throws -> JSONValue {
            let text = try await Tool.output(
                of: Tool.require("python3"),
                [
                    "-c", "import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]).decode())",
                    archive.string, name,
                ])
            return try WireCoding.decode(JSONValue.self, from: text.utf8)
        }
        guard case .object(let answers) = try await file("answers.json"),
            case .object(let task) = try await file("taskResult.json"),
            case .object(let manifest) = try await file("metadata.json"),
            case .array(let files) = manifest["files"]
        else { throw TestFailure("the archive's documents are no objects") }
        let result = try WireCoding.decode(JSONValue.self, from: Data(contentsOf: URL(filePath: encoded.string)))
        #expect(result == .object(task))
        #expect(answers["pain"] == .integer(2))
        #expect(task["schedule"] == .string("2026-w48"))
        #expect(manifest["keys"] == .object(["schedule": .string("2026-w48")]))
        #expect(
            files.contains { file in
                if case .object(let fields) = file { fields["filename"] == .string("photo.jpg") } else { false }
            })
    }
}
