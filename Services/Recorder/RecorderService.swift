import MessageBus
import Recording
import ServiceKit
import ServiceLifecycle

/// Runs a recorder: pulls from the bus into the engine, commits, and carries out what the engine orders.
struct RecorderService: Service {
    let engine: RecordingEngine
    let listener: Listener

    func run() async throws {
        try await runTogether(
            { try await listener.forEachBatch { await engine.take($0) } },
            { try await engine.commitRegularly() },
            { try await engine.writeFilesRegularly() },
            { try await engine.storeRegularly() },
            { try await engine.tickRegularly() },
            { try await engine.compareClocksRegularly() },
            { try await engine.configureRegularly() },
            { try await carryOutOrders() },
            // Sessions end with everything that was sampled so far; only then does the pulling end.
            finish: { await engine.stopAll() })
    }

    private func carryOutOrders() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for await order in engine.orders {
                group.addTask {
                    switch order {
                    case .recover(let session, let stream):
                        try await engine.publishers.recover(
                            SessionStream(engine: engine, session: session, stream: stream),
                            limit: engine.settings.recoveryLimit.duration)
                    case .stop(let session): await engine.stop(session)
                    }
                }
            }
            throw CancellationError()
        }
    }
}
