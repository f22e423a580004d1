import MessageBus
import Messages
import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// Runs the archiver: hears of sessions that are over, looks for others, and works on them.
struct ArchiverService: Service {
    let engine: ArchiveEngine
    let listener: Listener

    /// Opens the socket that listens to the recorders.
    static func listener(on host: ServiceHost, settings: ArchiverSettings) async throws -> Listener {
        try await host.listener(to: [TopicArea.recording], of: .recorder, at: settings.subscribe)
    }

    /// What is under way at its end is interrupted: it continues, or begins anew, at the next start.
    func run() async throws {
        try await runTogether(
            { try await listener.forEachBatch { await engine.take($0) } },
            { try await listener.onReconnect { await engine.scan() } }, { try await engine.carryOutDisk() },
            { try await engine.carryOutMaking() }, { try await engine.carryOutUploads() },
            { try await engine.carryOutAsking() }, { try await engine.wakeInTime() })
        await engine.releaseClaims()
    }
}
