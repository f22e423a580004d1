import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Names from the wire cannot escape the directory to which they belong.
@Suite(.timeLimit(.minutes(1)))
struct NamesTests {
    private static let sessions = [
        "..", ".", "../x", "x/y", "/etc/x", "x/../../y", "x\u{0}", "x\n", "%2e%2e", "..\\x", " ", "~",
        String(repeating: "x", count: 300),
    ]

    @Test func noRequestTakesASessionElsewhere() async throws {
        try await Self.inside { recorder in
            for session in Self.sessions {
                let requests: [any Request] = [
                    RecordingStart(session: session, streams: ["a/"]), RecordingMoveTo(session: session, step: "x"),
                    RecordingPause(session: session), RecordingResume(session: session),
                    RecordingCancel(session: session), RecordingStop(session: session),
                    RecordingStatus(session: session), RecordingResultRequest(session: session),
                ]
                for request in requests {
                    let reason = try await recorder.refusal(request)
                    #expect(reason == "invalidParameter", "\(request)")
                }
            }
        }
    }

    @Test(arguments: ["..", "../..", "../../evil", "/etc", "a/b", ".", "~", "x\u{0}y", "CON", "ü/../ü"])
    func aDevicesLogStaysInItsSession(device: String) async throws {
        let publisher = try await FakePublisher(StreamName(device: device, stream: "../gyro"))
        try await Self.inside([publisher]) { recorder in
            try await recorder.start("s", publisher, streams: [StreamName.everything])
            try publisher.sample(20)
            _ = try await recorder.describing([publisher]) { try await recorder.send(RecordingList()) }
            let result = try await recorder.stop()
            for file in result.logs.flatMap(\.files) { #expect(FilePath(file).components.count == 1) }
        }
    }

    /// Device names that would collide with the session's own files.
    @Test(arguments: ["session.json", "journal", "report", "SHA256SUMS"])
    func aDevicesLogIsNoOtherFileOfTheSession(device: String) async throws {
        let publisher = try await FakePublisher(StreamName(device: device, stream: "json"))
        try await Self.inside([publisher]) { recorder in
            try await recorder.start("s", publisher)
            try await recorder.prime(publisher)
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            #expect(try recorder.directory().record().session.text == "s")
        }
    }

    /// Runs a recorder whose data directory is, and stays, the only entry of its parent directory.
    private static func inside(
        _ publishers: [FakePublisher] = [], _ body: @escaping @Sendable (RecorderUnderTest) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await RecorderUnderTest.run(listeningTo: publishers, data: directory.appending("data"), body)
            let around = try FileManager.default.contentsOfDirectory(atPath: directory.string)
            #expect(around == ["data"])
            let data = try FileManager.default.contentsOfDirectory(atPath: directory.appending("data").string)
            #expect(data == ["recordings"])
            let recordings = directory.appending("data/recordings").string
            let sessions = (try? FileManager.default.contentsOfDirectory(atPath: recordings)) ?? []
            #expect(Set(sessions.filter { $0.first != "." }).isSubset(of: ["s"]), "\(sessions)")
        }
    }
}
