import Messages
import MessageBus
import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// Runs log-manager: hears of finished files, looks at the disk, and removes what the user's policy says.
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
            { try await engine.watchDisk() },
            { try await engine.rescanRegularly() },
            { try await listener.onReconnect { await engine.noteReconnect() } },
            { try await engine.cleanUpWhenFull() })
    }
}
