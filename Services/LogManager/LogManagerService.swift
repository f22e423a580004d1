import Messages
import MessageBus
import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// Runs a log-manager: pulls from the bus into the engine, and carries out what that asks for.
struct LogManagerService: Service {
    let engine: LogEngine
    let listener: Listener

    /// Opens the socket that listens to the recorders.
    static func listener(on host: ServiceHost, settings: LogManagerSettings) async throws -> Listener {
        try await host.listener(
            to: [TopicArea.segment, TopicArea.recording], of: .recorder, at: settings.subscribe)
    }

    func run() async throws {
        try await runTogether(
            { try await listener.forEachBatch { await engine.take($0) } },
            { try await listener.onReconnect { await engine.noteReconnect() } },
            { try await engine.tickRegularly() },
            { try await engine.carryOutLooks() },
            { try await engine.carryOutScans() },
            { try await engine.carryOutRemovals() })
    }
}
