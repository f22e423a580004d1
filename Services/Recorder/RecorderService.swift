import MessageBus
import ServiceKit
import ServiceLifecycle

/// Runs a recorder: pulls from the bus into the engine, and carries out what that asks for.
struct RecorderService: Service {
    let engine: RecordingEngine
    let listener: Listener

    func run() async throws {
        try await runTogether(
            { try await listener.forEachBatch { await engine.take($0) } },
            { try await engine.tickRegularly() },
            { try await engine.wakeInTime() },
            { try await engine.carryOutLog() },
            { try await engine.carryOutFiles() },
            { try await engine.carryOutSyncs() },
            { try await engine.carryOutDocuments() },
            { try await engine.carryOutPublishers() },
            { try await engine.carryOutEvents() },
            { try await engine.carryOutConfiguring() },
            { try await engine.carryOutSubscriptions() },
            // Sessions end with everything that was sampled so far; only then does the pulling end.
            finish: { await engine.stopAll() })
    }
}
