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
        let subscriber = try Subscriber(context: host.context, thread: host.thread)
        try await subscriber.subscribe(to: TopicArea.segment)
        try await subscriber.subscribe(to: TopicArea.recording)
        for endpoint in settings.subscribe { try await subscriber.connect(to: endpoint.description) }
        return subscriber
    }

    func run() async throws {
        try await runTogether(
            { try await subscriber.forEachBatch { await engine.take($0) } },
            { try await engine.watchDisk() },
            { try await engine.rescanRegularly() },
            { try await engine.cleanUpWhenFull() })
    }
}
