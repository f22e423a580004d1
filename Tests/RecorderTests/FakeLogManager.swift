import MessageBus
import Messages
import Synchronization
import TestSupport
import ZeroMQ

/// A log-manager that gives the log configurations that a test sets.
final class FakeLogManager: Sendable {
    private struct State {
        var configurations: [String: LogConfiguration] = [:]
        var asked: [String] = []
        var gate: Gate?
    }

    let endpoint: String
    private let server: ReplyServer
    private let state: StateBox

    /// Shared with the router.
    private final class StateBox: Sendable {
        let state = Mutex(State())
    }

    init(_ configurations: LogConfiguration...) async throws {
        let state = StateBox()
        for configuration in configurations {
            state.state.withLock { $0.configurations[configuration.name] = configuration }
        }
        var router = RequestRouter()
        router.on(LogsGet.self) { request in
            let (configuration, gate) = state.state.withLock { state in
                state.asked.append(request.name)
                return (state.configurations[request.name], state.gate)
            }
            await gate?.pass()
            guard let configuration else { throw RequestError(.unknownLog, "there is no log \(request.name)") }
            return configuration
        }
        server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: router, context: Context(), thread: SocketThread(name: "logs"))
        endpoint = server.endpoint
        self.state = state
    }

    /// Answers as long as a closure runs.
    func whileAnswering(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [server] in try? await server.run() }
            try await body()
            group.cancelAll()
        }
    }

    /// The logs that the recorder asked about, in order.
    var asked: [String] { state.state.withLock { $0.asked } }

    /// Replaces a log's configuration from now on.
    func set(_ configuration: LogConfiguration) {
        state.state.withLock { $0.configurations[configuration.name] = configuration }
    }

    /// Delays answers until the gate is open.
    func hold() -> Gate {
        let gate = Gate()
        state.state.withLock { $0.gate = gate }
        return gate
    }
}
