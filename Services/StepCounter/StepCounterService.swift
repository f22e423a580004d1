import MessageBus
import ServiceKit
import ServiceLifecycle

/// Runs a step-counter: pulls from the bus into the engine, and carries out what that asks for.
struct StepCounterService: Service {
    let engine: StepEngine
    let listener: Listener

    func run() async throws {
        try await runTogether(
            { try await listener.forEachBatch { await engine.take($0) } },
            { try await engine.tickRegularly() },
            { try await engine.carryOutHistory() },
            { try await engine.carryOutSubscriptions() },
            { try await engine.carryOutRecoveries() },
            finish: { await engine.finish() })
    }
}
