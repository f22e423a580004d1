import ServiceLifecycle

/// Runs a sensor publisher: drives its streams, reads standard input, describes the streams each second.
struct SensorPublisherService: Service {
    let engine: SamplingEngine

    func run() async throws {
        await engine.begin()
        do {
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { try await drive() }
                group.addTask { try await engine.readInput() }
                group.addTask { try await engine.describeRegularly() }
                group.addTask {
                    try? await gracefulShutdown()
                    await engine.finish()
                    // Ends the others.
                    throw CancellationError()
                }
            }
        } catch is CancellationError {}
    }

    private func drive() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for await driver in engine.drivers { group.addTask { try await engine.drive(driver) } }
            throw CancellationError()
        }
    }
}
