import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// `recorder record --series`: a session that continues even if programs are killed during it.
@Suite(.timeLimit(.minutes(5)))
struct SeriesTests {
    @Test func aSessionOfASeriesIsGoneOnWithAfterKills() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(["--signal", "noise:seed=1", "--device", "phone"]) { _ in
                let session = try await cutoff.recorder { recorder in
                    let session = try await Self.record(in: cutoff, duration: "1h") { client in
                        let session = try await Self.session(of: client, "recording")
                        try await eventually("the next step") {
                            try await cutoff.recordings.send(RecordingStatus(session: session), timeout: .seconds(60))
                                .step == "Walk/back"
                        }
                        try client.send(.kill)
                        return session
                    }
                    // A session of another name does not belong to the series.
                    try await cutoff.start(RecordingStart(session: "other", streams: ["*"]))
                    try await cutoff.kill(recorder)
                    return session
                }
                try await cutoff.recorder { _ in
                    // The session has already lasted longer than this, so it ends at once.
                    try await Self.record(in: cutoff, duration: "1s") { client in
                        #expect(try await Self.session(of: client, "continuing") == session)
                        let end = try await client.end(within: .seconds(40))
                        #expect(end == .exited(0), "\(client.standardOutput)\(client.standardError)")
                        #expect(client.standardOutput.hasSuffix(": whole\n"))
                    }
                    let records = try await Self.records(of: session, in: cutoff)
                    #expect(records.compactMap(\.marker) == ["start", "step", "resumed", "stop"])
                    _ = try await cutoff.stop("other")
                    try await Self.record(in: cutoff, duration: "300ms") { client in
                        let next = try await Self.session(of: client, "recording")
                        #expect(next != session && next.hasPrefix("walk-"))
                        #expect(try await client.end(within: .seconds(40)) == .exited(0))
                    }
                }
            }
        }
    }

    /// The client that requested the session waits for the recorder to return.
    @Test func aRecorderMayBeKilledMeanwhile() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(["--signal", "noise:seed=1"]) { _ in
                try await cutoff.recorder { recorder in
                    try await Self.record(in: cutoff, duration: "12s") { client in
                        let session = try await Self.session(of: client, "recording")
                        try await cutoff.more(20, in: session)
                        try await cutoff.kill(recorder)
                        try await cutoff.recorder { _ in
                            #expect(try await client.end(within: .seconds(60)) == .exited(0))
                            let records = try await Self.records(of: session, in: cutoff)
                            #expect(records.compactMap(\.marker).sorted() == ["resumed", "start", "step", "stop"])
                        }
                    }
                }
            }
        }
    }

    /// A second Ctrl-C ends the command although its recorder hangs.
    @Test func aSecondSignalLeavesTheEndToTheRecorder() async throws {
        try await Cutoff.run { cutoff in
            try await cutoff.publisher(["--signal", "noise:seed=1"]) { _ in
                try await cutoff.recorder { recorder in
                    let session = try await Self.record(in: cutoff, duration: "1h") { client in
                        let session = try await Self.session(of: client, "recording")
                        try recorder.send(.stop)
                        try client.send(.interrupt)
                        let line = "ending session \(session): a second signal leaves that to the recorder"
                        _ = try await client.line("that it ends") { $0 == line }
                        try client.send(.interrupt)
                        #expect(try await client.end(within: .seconds(40)) == .exited(74))
                        let said = "the recorder has yet to end session \(session)"
                        #expect(client.standardError.contains(said), "\(client.standardError)")
                        return session
                    }
                    try recorder.send(.resume)
                    // The recorder received the request, and carries it out.
                    try await eventually("the session's end") {
                        try await cutoff.recordings.send(RecordingStatus(session: session), timeout: .seconds(60))
                            .status == "finished"
                    }
                }
            }
        }
    }

    private static func record<Result: Sendable>(
        in cutoff: Cutoff, duration: String, _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        // The recorder's own endpoint may look like this in a container's environment.
        let reply = cutoff.recorderEndpoint.reply.replacing("127.0.0.1", with: "*")
        return try await ProgramUnderTest.run(
            "recorder",
            arguments: [
                "record", "--reply", reply,
                "--sensor-publisher", cutoff.publisherEndpoint.reply, "--streams", "*", "--series", "walk", "--task",
                "Walk", "--step", "out", "--move-to", "500ms=back",
                "--duration", duration, "--verify",
            ], in: cutoff.directory, body)
    }

    private static func session(of client: ProgramUnderTest, _ what: String) async throws -> String {
        let line = try await client.line("the session's name") { $0.hasPrefix("\(what) session ") }
        return String(line.split(separator: " ").last ?? "")
    }

    private static func records(of session: String, in cutoff: Cutoff) async throws -> [LogItem] {
        let result = try await cutoff.recordings.send(
            RecordingResultRequest(session: session), timeout: .seconds(60))
        return try result.logs.flatMap { try cutoff.records(of: $0, in: result) }
    }
}
