import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// The commands for a session's directory, and their exit codes and output.
@Suite(.timeLimit(.minutes(5)))
struct SessionCommandTests {
    @Test func aSessionIsVerifiedShownAndRecovered() async throws {
        try await Rig.run(
            publishing: ["--signal", "noise:seed=1", "--rate", "200", "--batch", "5", "--device", "phone"]
        ) { rig in
            try await rig.start(RecordingStart(session: "walk", task: "Walk", streams: ["phone/"]))
            let directory = rig.directory.appending("recordings/walk")
            try await eventually("samples are recorded") {
                let state = try await rig.recordings.send(RecordingStatus(session: "walk"), timeout: .seconds(60))
                return state.logs.contains { $0.samples > 20 }
            }
            // A copy made during the session is like the result of a crash.
            let copy = rig.directory.appending("copy")
            // Files may appear and disappear meanwhile.
            try await eventually("a copy") {
                try? FileManager.default.removeItem(atPath: copy.string)
                return (try? FileManager.default.copyItem(atPath: directory.string, toPath: copy.string)) != nil
            }
            let result = try await rig.stop("walk")

            let whole = try await Self.recorder("verify", directory.string)
            #expect(whole.end == .exited(0), "\(whole)")
            #expect(whole.output.hasSuffix(": whole\n"))

            let cut = try await Self.recorder("recover", copy.string)
            #expect(cut.end == .exited(3), "\(cut)")
            #expect(cut.output.hasPrefix("recovered to \(copy)-recovered\n"))
            #expect(try await Self.recorder("verify", "\(copy)-recovered").end == .exited(3))
            #expect(try await Self.recorder("recover", copy.string).end == .exited(1))

            let info = try await Self.recorder("info", "--format", "json", directory.string)
            let document = try JSONDecoder().decode(Info.self, from: Data(info.output.utf8))
            #expect(document.status == "finished")
            #expect(document.streams.map(\.samples) == result.logs.map(\.samples))
            #expect(try await Self.recorder("info", directory.string).output.contains("phone/accelerometer"))

            let file = try rig.onlyFile(of: result)
            var bytes = try Data(contentsOf: URL(filePath: file.string))
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: URL(filePath: file.string))
            let damaged = try await Self.recorder("verify", directory.string)
            #expect(damaged.end == .exited(1))
            #expect(damaged.output.contains("\(file.lastComponent?.string ?? ""): is not what SHA256SUMS says"))

            let missing = try await Self.recorder("verify", "/no/such/session")
            #expect(missing.end == .exited(1))
            #expect(missing.error.contains("/no/such/session"))
        }
    }

    private struct Info: Decodable {
        struct Stream: Decodable { var samples: Int }
        var status: String
        var streams: [Stream]
    }

    private static func recorder(
        _ arguments: String...
    ) async throws -> (end: ProgramEnd, output: String, error: String) {
        try await ProgramUnderTest.run("recorder", arguments: arguments) { program in
            let end = try await program.end()
            return (end, program.standardOutput, program.standardError)
        }
    }
}
