import Files
import MessageBus
import Messages
import Recording
import Synchronization
import SystemPackage
import ZeroMQ

/// Answers the log manager's requests to mark and remove files, and records them.
final class LogManagerStandIn: Sendable {
    private let marks = Mutex<[String: JSONValue]>([:])
    private let refusals = Mutex<[String: String]>([:])
    private let removalRefusals = Mutex<[String: String]>([:])
    private let data: FilePath

    init(data: FilePath) {
        self.data = data
    }

    /// The marks that were set, by path.
    var marked: [String: JSONValue] { marks.withLock { $0 } }

    /// Forgets all marks, as after the loss of the catalog.
    func forgetMarks() { marks.withLock { $0 = [:] } }

    /// Refuses to mark a path with this reason; nil accepts it again.
    func refuse(_ path: String, _ reason: String?) { refusals.withLock { $0[path] = reason } }

    /// Refuses to remove a path with this reason; nil accepts it again.
    func refuseRemoval(_ path: String, _ reason: String?) { removalRefusals.withLock { $0[path] = reason } }

    func listen(on endpoint: String, _ context: Context, _ thread: SocketThread) async throws -> ReplyServer {
        var router = RequestRouter()
        router.on(LogsMarkUploaded.self) { request in
            self.answer(request.paths) { path in self.marks.withLock { $0[path] = request.receipt ?? .null } }
        }
        router.on(LogsRemoveUploaded.self) { request in
            let refused = self.removalRefusals.withLock { $0 }
            return self.answer(request.paths, refusing: refused) { path in
                guard self.marked[path] != nil else { return }
                try? Directory.removeFile(self.data.pushing(FilePath(path)))
            }
        }
        return try await ReplyServer(listeningOn: endpoint, router: router, context: context, thread: thread)
    }

    private func answer(
        _ paths: [String], refusing more: [String: String] = [:], _ body: (String) -> Void
    ) -> LogFileOutcome {
        let refused = refusals.withLock { $0 }.merging(more) { first, _ in first }
        for path in paths where refused[path] == nil { body(path) }
        return LogFileOutcome(
            done: paths.filter { refused[$0] == nil },
            refused: paths.compactMap { path in
                refused[path].map { LogFileOutcome.Refusal(path: path, reason: $0) }
            })
    }
}
