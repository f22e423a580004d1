import MessageBus
import Messages
import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// Runs a step-counter: pulls from the bus into the engine, commits, and asks for what is missing.
struct StepCounterService: Service {
    let engine: StepEngine
    let listener: Listener
    let settings: StepCounterSettings

    /// Opens the socket that listens to the publishers.
    static func listener(on host: ServiceHost, settings: StepCounterSettings) async throws -> Listener {
        try await host.listenerToStreams(
            at: settings.subscribe, receiveHighWaterMark: settings.receiveHighWaterMark)
    }

    func run() async throws {
        try await runTogether(
            { try await listener.forEachBatch { await engine.take($0) } }, { try await engine.commitRegularly() },
            { try await engine.commitWhenWanted() },
            { try await engine.watchRegularly() }, { try await recover() }, finish: { await engine.finish() })
    }

    private func recover() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for await stream in engine.recoveries {
                group.addTask {
                    try await engine.publishers.recover(
                        CountedStream(engine: engine, name: stream), limit: settings.recoveryLimit.duration)
                }
            }
            throw CancellationError()
        }
    }
}
