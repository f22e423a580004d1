import MessageBus
import Messages
import TestSupport
import Testing
import ZeroMQ

/// Recorders that connect and disconnect.
@Suite(.timeLimit(.minutes(2)))
struct ComingTests {
    @Test func whatWasFinishedWhileNobodyHeardIsFoundWhenTheRecorderIsBack() async throws {
        let endpoint = try FreePort.endpoint()
        try await withTemporaryDirectory { data in
            // Without events, the log manager scans the disk only every five minutes.
            try await LogManagerUnderTest.run(in: data, options: ["subscribe": endpoint]) { manager in
                let path = try StoredSession(in: data).finish()
                #expect(try await manager.paths() == [])
                let (recorder, _) = try EventPublisher.listening(
                    on: endpoint, context: Context(), thread: SocketThread(name: "recorder"))
                try await eventually("the file in the list") { try await manager.paths() == [path] }
                withExtendedLifetime(recorder) {}
            }
        }
    }
}
