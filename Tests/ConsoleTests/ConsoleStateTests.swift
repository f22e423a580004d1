import MessageBus
import Messages
import Synchronization
import Testing
import ZeroMQ

@testable import ConsoleEngine

/// The state of the programs, with one server in place of all of them.
@Suite(.timeLimit(.minutes(1)))
struct ConsoleStateTests {
    /// Otherwise, a page would undo what it did while another program kept the console waiting.
    @Test func recordingsAreReadLast() async throws {
        let healthReplies = Mutex(0)
        var router = RequestRouter()
        router.on(ServiceHealth.self) { _ in
            healthReplies.withLock { $0 += 1 }
            return ServiceHealth.Reply(status: .ok, reasons: [], uptime: 0, version: "1")
        }
        router.on(StreamsList.self) { _ in StreamsList.Reply(streams: []) }
        router.on(RecordingStatus.self) { request in
            RecordingState(session: request.session, status: "running", step: "", paused: false, logs: [])
        }
        let (context, thread) = (try Context(), try SocketThread(name: "test"))
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: router, context: context, thread: thread)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            func client() throws -> RequestClient {
                try RequestClient(context: context, thread: thread, endpoint: server.endpoint)
            }
            let programs = try ConsolePrograms(
                publisher: client(), recorder: client(), stepCounter: client(), logManager: client(),
                archiver: client())
            // The session starts when the last program has replied.
            let state = await ConsoleState.now(of: programs, role: nil) {
                healthReplies.withLock { $0 } == programs.all.count ? ["s1"] : []
            }
            #expect(state.recordings.map(\.session) == ["s1"])
            group.cancelAll()
            try await group.waitForAll()
        }
    }
}
