import Messages
import MessageBus
import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// Runs log-manager: hears of finished files, looks at the disk, and removes what the user's policy says.
struct LogManagerService: Service {
    let engine: LogEngine
    let subscriber: Subscriber

    /// Opens the socket that listens to the recorders.
    static func subscriber(on host: ServiceHost, settings: LogManagerSettings) async throws -> Subscriber {
        try await host.peers.subscriber(
            to: [TopicArea.segment, TopicArea.recording], of: .recorder, at: settings.subscribe)
    }

    func run() async throws {
        try await runTogether(
            { try await subscriber.forEachBatch { await engine.take($0) } },
            { try await engine.watchDisk() },
            { try await engine.rescanRegularly() },
            { try await engine.cleanUpWhenFull() })
    }
}
